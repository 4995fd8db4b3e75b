"""Joins the fields of a PDF with the widgets on its pages.

A form lists its fields, and each page lists the widgets that a viewer draws. Usually a field and
its widget are one object, or the field has the widgets as kids. Some programs (macOS Preview) write
separate objects with one name; some leave the list of fields empty. After `join` every named widget
of a page is its field's widget, so that a value of the field can be drawn.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

from pikepdf import Array, Dictionary, Name, Object, Pdf, String

_MAX_WIDGETS: Final = 20_000
_MAX_NODES: Final = 100_000
_MAX_DEPTH: Final = 32
_MAX_NAME: Final = 4096  # characters of a name with those above it
_FIELD_ENTRIES: Final = ("/FT", "/Ff", "/MaxLen", "/V", "/DV", "/Opt", "/TU")
_INHERITED_ENTRIES: Final = ("/FT", "/Ff", "/MaxLen", "/V", "/DA", "/Q")
_WIDGET_ENTRIES: Final = (
    *("/Type", "/Subtype", "/Rect", "/AP", "/AS", "/MK", "/BS"),
    *("/Border", "/F", "/P", "/H", "/A", "/AA", "/C", "/NM", "/StructParent"),
)

Identity = tuple[int, int]


def join(pdf: Pdf) -> None:
    """Make fields indirect objects, and each named widget of a page a widget of its field."""
    widgets = list(_page_widgets(pdf))
    form = pdf.Root.get("/AcroForm")
    if not isinstance(form, Dictionary):
        form = pdf.Root.AcroForm = pdf.make_indirect(Dictionary())
    if not isinstance(form.get("/Fields"), Array):
        form.Fields = Array()
    _Tree(pdf, form.Fields, widgets).join()


def _page_widgets(pdf: Pdf) -> Iterator[Object]:
    """Yield the widgets that pages list, as indirect objects."""
    count = 0
    for page in pdf.pages:
        annotations = page.obj.get("/Annots")
        if not isinstance(annotations, Array):
            continue
        for index, each in enumerate(annotations):
            if isinstance(each, Dictionary) and each.get("/Subtype") == Name.Widget:
                if not each.is_indirect:
                    annotations[index] = pdf.make_indirect(each)
                yield annotations[index]
                count += 1
                if count > _MAX_WIDGETS:
                    raise ValueError("too many widgets")


class _Place(NamedTuple):
    """Where a field is in the tree: the list that has it, and its position there."""

    siblings: Any
    position: int


class _Tree:
    """The field tree of a form, and its leaves by name."""

    def __init__(self, pdf: Pdf, fields: Any, widgets: list[Object]) -> None:
        self._pdf = pdf
        self._fields = fields
        self._widgets = widgets
        self._on_page = {widget.objgen for widget in widgets}
        self._nodes: set[Identity] = set()
        self._listed = 0
        self._places: dict[Identity, _Place] = {}
        self._leaves: dict[str, Object] = {}
        self._kids: dict[Identity, set[Identity]] = {}
        self._joined: set[Identity] = set()
        self._root_names: set[str] = set()

    def join(self) -> None:
        """Find the leaves of the tree, then attach the widgets that are not in it."""
        self._visit(self._fields, None, "")
        for widget in self._widgets:
            self._add_root(widget)
        nameless = []
        for widget in self._widgets:
            if widget.objgen in self._nodes:
                continue
            if name := _full_name(widget):
                self._add_named(widget, name)
            else:
                nameless.append(widget)
        self._add_nameless(nameless)

    def _visit(self, nodes: Any, parent: Object | None, prefix: str, first: int = 0) -> None:
        """Record the nodes of a list, from its index `first` on, and those below them."""
        self._listed += len(nodes) - first
        if self._listed > _MAX_NODES:  # fields may share one list
            raise ValueError("too many nodes")
        for index in reversed(range(first, len(nodes))):
            if not isinstance(nodes[index], Dictionary):
                del nodes[index]
        for index in range(first, len(nodes)):
            if not nodes[index].is_indirect:
                nodes[index] = self._pdf.make_indirect(nodes[index])
            node = nodes[index]
            if node.objgen in self._nodes:
                continue
            self._nodes.add(node.objgen)
            if parent is not None:
                node.Parent = parent
            self._places[node.objgen] = _Place(nodes, index)
            if parent is None:
                self._root_names.add(part_of_name(node))
            self._visit_below(node, long_name(prefix, node))

    def _visit_below(self, node: Object, name: str) -> None:
        kids = node.get("/Kids")
        if "/T" in node and (kids is None or not any(map(_has_name, kids))):
            self._leaves.setdefault(name, node)
        if kids is not None:
            self._visit(kids, node, f"{name}.")

    def _add_root(self, widget: Object) -> None:
        """Add the topmost field above a widget, if it leads to the widget and its name is free."""
        if widget.objgen in self._nodes or "/Parent" not in widget:
            return
        chain = list(_with_parents(widget))
        leads = all(below.objgen in self._kids_of(above) for below, above in pairwise(chain))
        name = part_of_name(chain[-1])
        if leads and name and len(chain) < _MAX_DEPTH and name not in self._root_names:
            self._fields.append(chain[-1])
            self._visit(self._fields, None, "", len(self._fields) - 1)

    def _kids_of(self, field: Object) -> set[Identity]:
        if field.objgen not in self._kids:
            self._kids[field.objgen] = {kid.objgen for kid in field.get("/Kids", ())}
        return self._kids[field.objgen]

    def _add_named(self, widget: Object, name: str) -> None:
        """Attach a widget to the field of its name; without one it becomes a field itself."""
        self._copy_inherited(widget)
        leaf = self._leaves.get(name)
        if leaf is not None:
            self._attach(name, leaf, widget)
            return
        widget.T = String(name)
        if "/Parent" in widget:
            del widget["/Parent"]
        self._fields.append(widget)
        self._visit(self._fields, None, "", len(self._fields) - 1)

    def _copy_inherited(self, widget: Object) -> None:
        """Copy the entries that a widget inherits, before it gets another parent."""
        for above in list(_with_parents(widget))[1:]:
            for entry in _INHERITED_ENTRIES:
                if entry not in above or entry in widget:
                    continue
                if isinstance(above[entry], String) and not above[entry].is_indirect:
                    above[entry] = self._pdf.make_indirect(above[entry])  # one for all widgets
                widget[entry] = above[entry]

    def _add_nameless(self, widgets: list[Object]) -> None:
        """Attach widgets without a name to the fields that have a copy of them, by rectangle."""
        if not widgets:
            return
        copies: dict[tuple[float, ...], list[str]] = {}
        for name, leaf in self._leaves.items():
            for each in leaf.get("/Kids", [leaf]):
                if "/Rect" in each and each.objgen not in self._on_page:
                    copies.setdefault(_rectangle(each), []).append(name)
        for widget in widgets:
            names = set(copies.get(_rectangle(widget), ())) if "/Rect" in widget else set()
            if len(names) == 1:
                (name,) = names
                self._attach(name, self._leaves[name], widget)

    def _attach(self, name: str, leaf: Object, widget: Object) -> None:
        """Make a widget a kid of a field; copies of widgets that no page has are dropped."""
        field = self._leaves[name] = self._without_widget(leaf)
        if field.objgen not in self._joined:
            self._joined.add(field.objgen)
            field.Kids = Array([kid for kid in field.Kids if kid.objgen in self._on_page])
        for entry in _FIELD_ENTRIES:
            if entry in widget:
                if entry not in field:
                    field[entry] = widget[entry]
                del widget[entry]
        if "/T" in widget:
            del widget["/T"]
        widget.Parent = field
        field.Kids.append(widget)
        self._nodes.add(widget.objgen)

    def _without_widget(self, leaf: Object) -> Object:
        """Return a field that has its widgets as kids."""
        if "/Kids" in leaf:
            return leaf
        if leaf.objgen not in self._on_page:
            for entry in _WIDGET_ENTRIES:
                if entry in leaf:
                    del leaf[entry]
            leaf.Kids = Array()
            return leaf
        return self._split(leaf)

    def _split(self, widget: Object) -> Object:
        """Move the field entries of a widget on a page to a field of its own."""
        entries = {
            entry: widget[entry] for entry in ("/T", "/Parent", *_FIELD_ENTRIES) if entry in widget
        }
        field = self._pdf.make_indirect(Dictionary(entries))
        for entry in entries:
            del widget[entry]
        widget.Parent, field.Kids = field, Array([widget])
        place = self._places[widget.objgen]
        place.siblings[place.position] = field
        self._places[field.objgen] = place
        self._nodes.add(field.objgen)
        return field


def _has_name(node: Any) -> bool:
    return isinstance(node, Dictionary) and "/T" in node


def _with_parents(node: Object) -> Iterator[Object]:
    """Yield a node and the fields above it; a cycle ends at the maximum depth."""
    for _ in range(_MAX_DEPTH):
        yield node
        above = node.get("/Parent")
        if not isinstance(above, Dictionary):
            return
        node = above


def _full_name(widget: Object) -> str:
    """Return the name of a widget's field with those above it, joined by dots."""
    names = [part_of_name(each) for each in _with_parents(widget) if "/T" in each]
    return _bounded(".".join(reversed(names)))


def part_of_name(node: Object) -> str:
    """Return a node's own part of the name; empty if it has none."""
    return str(node.get("/T", ""))


def long_name(prefix: str, node: Object) -> str:
    """Return the name of a node below a prefix; raise ValueError if it is too long."""
    return _bounded(prefix + part_of_name(node))


def _bounded(name: str) -> str:
    if len(name) > _MAX_NAME:
        raise ValueError("a name is too long")
    return name


def _rectangle(widget: Object) -> tuple[float, ...]:
    return tuple(round(float(edge), 1) for edge in widget.Rect)
