"""Adds AcroForm fields to a drawn PDF; each is named by the path of its value."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, Pdf, Stream, String

from tools.draw_sheet.sheet import FieldSpec

PRINTED = 4
MULTILINE = 1 << 12
CHECK_MARKS = {
    # drawn in a square of side 1
    "check-circle": "0.11 0.13 0.22 rg 0.5 0.14 m 0.7 0.14 0.86 0.3 0.86 0.5 c 0.86 0.7 0.7 0.86 0.5 0.86 c "
    "0.3 0.86 0.14 0.7 0.14 0.5 c 0.14 0.3 0.3 0.14 0.5 0.14 c f",
    "check-diamond": "0.11 0.13 0.22 rg 0.5 0.14 m 0.86 0.5 l 0.5 0.86 l 0.14 0.5 l f",
}


def put_fields(drawn: bytes, fields: list[FieldSpec], target: Path) -> None:
    """Save a drawing with its fields; fields of one name share their value."""
    with pikepdf.open(BytesIO(drawn)) as pdf:
        helvetica = pdf.make_indirect(
            Dictionary(
                Type=Name.Font,
                Subtype=Name.Type1,
                BaseFont=Name.Helvetica,
                Encoding=Name.WinAnsiEncoding,
            )
        )
        form = pdf.make_indirect(
            Dictionary(
                Fields=Array(),
                DR=Dictionary(Font=Dictionary(Helv=helvetica)),
                DA=String("/Helv 9 Tf 0.11 0.13 0.22 rg"),
            )
        )
        pdf.Root.AcroForm = form
        pdf.Root.Lang = String("en")
        tree = _FieldTree(pdf, form)
        marks = {kind: _marks(pdf, kind) for kind in CHECK_MARKS}
        for spec in fields:
            tree.add(spec, marks.get(spec.kind))
        pdf.docinfo["/Title"] = String("Character sheet")
        pdf.save(
            target, object_stream_mode=pikepdf.ObjectStreamMode.generate, deterministic_id=True
        )


def _marks(pdf: Pdf, kind: str) -> Any:
    """Return the on and off appearance streams shared by all checkboxes of a kind."""

    def drawing(content: str) -> Any:
        return pdf.make_indirect(
            Stream(
                pdf,
                content.encode(),
                Type=Name.XObject,
                Subtype=Name.Form,
                BBox=Array([0, 0, 1, 1]),
            )
        )

    return Dictionary(N=Dictionary(Yes=drawing(CHECK_MARKS[kind]), Off=drawing("")))


class _FieldTree:
    """The field tree, by the dotted parts of field names."""

    def __init__(self, pdf: Pdf, form: Any) -> None:
        self._pdf = pdf
        self._nodes: dict[str, Any] = {"": form}
        self._leaves: dict[str, Any] = {}

    def add(self, spec: FieldSpec, marks: Any) -> None:
        page = self._pdf.pages[spec.page - 1]
        widget = self._pdf.make_indirect(
            Dictionary(
                Type=Name.Annot,
                Subtype=Name.Widget,
                Rect=Array([round(edge, 2) for edge in spec.box]),
                F=PRINTED,
                P=page.obj,
                DA=String(f"/Helv {spec.size:g} Tf 0.11 0.13 0.22 rg"),
                Q=spec.align,
            )
        )
        if marks is not None:
            widget.AP, widget.AS = marks, Name.Off
            widget.MK = Dictionary(CA=String("l"))
        if "/Annots" not in page.obj:
            page.obj.Annots = Array()
        page.obj.Annots.append(widget)
        self._attach(spec, widget, is_mark=marks is not None)

    def _attach(self, spec: FieldSpec, widget: Any, *, is_mark: bool) -> None:
        if spec.name in self._leaves:
            self._share(spec.name, widget)
            return
        path, _, last = spec.name.rpartition(".")
        widget.T, widget.TU = String(last), String(spec.tip)
        widget.FT = Name.Btn if is_mark else Name.Tx
        if is_mark:
            widget.V = Name.Off
        if spec.is_multiline:
            widget.Ff = MULTILINE
        self._leaves[spec.name] = widget
        self._insert(widget, path)

    def _share(self, name: str, widget: Any) -> None:
        """Add a second widget to a field: its field entries move to a common parent."""
        leaf = self._leaves[name]
        if "/Kids" not in leaf:
            first = leaf
            path = name.rpartition(".")[0]
            leaf = self._pdf.make_indirect(
                Dictionary(T=first.T, TU=first.TU, FT=first.FT, Kids=Array([first]))
            )
            for key in ("/T", "/TU", "/FT", "/Parent"):
                if key in first:
                    del first[key]
            siblings = self._siblings(path)
            at = next(index for index, each in enumerate(siblings) if each.objgen == first.objgen)
            siblings[at] = leaf
            first.Parent = leaf
            if path:
                leaf.Parent = self._nodes[path]
            self._leaves[name] = leaf
        leaf.Kids.append(widget)
        widget.Parent = leaf

    def _insert(self, node: Any, path: str) -> None:
        self._siblings(path).append(node)
        if path:
            node.Parent = self._nodes[path]

    def _siblings(self, path: str) -> Any:
        if path not in self._nodes:
            above, _, last = path.rpartition(".")
            node = self._pdf.make_indirect(Dictionary(T=String(last), Kids=Array()))
            self._nodes[path] = node
            self._insert(node, above)
        return self._nodes[path].Kids if path else self._nodes[""].Fields
