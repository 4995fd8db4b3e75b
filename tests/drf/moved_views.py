"""The examples in the README of django-rest-framework-mcp, with another import."""
# mypy: ignore-errors

from django.utils import timezone
from rest_framework import serializers, viewsets
from rest_framework.authentication import TokenAuthentication
from rest_framework.decorators import action
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response
from rest_framework.viewsets import ModelViewSet

from accord.django.decorators import mcp_tool, mcp_viewset
from accord.django.views import MCPView
from storefront.models import Customer
from storefront.serializers import CustomerSerializer


@mcp_viewset()
class CustomerViewSet(ModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer


@mcp_viewset(basename="members")
class GuardedViewSet(viewsets.ModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer
    authentication_classes = [TokenAuthentication]
    permission_classes = [IsAuthenticated]


class AuthenticatedMCPView(MCPView):
    authentication_classes = [TokenAuthentication]

    def has_mcp_permission(self, request):
        """Override this method to implement custom permission logic."""
        return request.user.is_authenticated


class RestrictedMCPView(MCPView):
    authentication_classes = [TokenAuthentication]

    def has_mcp_permission(self, request):
        # Only allow users in the 'mcp_users' group
        return (
            request.user.is_authenticated and request.user.groups.filter(name="mcp_users").exists()
        )


class GenerateInputSerializer(serializers.Serializer):
    user_prompt = serializers.CharField(help_text="The prompt to send to the LLM")


def call_llm(prompt):
    return prompt.upper()


@mcp_viewset()
class ContentViewSet(viewsets.ViewSet):
    @mcp_tool(input_serializer=GenerateInputSerializer)
    @action(detail=False, methods=["post"])
    def generate(self, request):
        user_prompt = request.data["user_prompt"]
        llm_response = call_llm(user_prompt)
        return Response({"llm_response": llm_response})

    @mcp_tool(input_serializer=None)  # No input needed
    @action(detail=False, methods=["get"])
    def recent_posts(self, request):
        return Response([timezone.now().year > 2000])

    @action(detail=False, methods=["post"])
    def undecorated(self, request):
        return Response("not a tool")


class ExtendedSerializer(CustomerSerializer):
    add_created_at_footer = serializers.BooleanField(
        help_text="Setting to true appends the author name"
    )

    class Meta(CustomerSerializer.Meta):
        fields = [*CustomerSerializer.Meta.fields, "add_created_at_footer"]


@mcp_viewset("posts")
class PostViewSet(viewsets.ModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer

    @mcp_tool(input_serializer=ExtendedSerializer)
    def create(self, request, *args, **kwargs):
        if request.data.get("add_created_at_footer"):
            request.data["name"] += " (created via MCP)"
        return super().create(request, *args, **kwargs)


@mcp_viewset(basename="chosen", actions=["banish", "list"])
class ChosenViewSet(viewsets.ModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer

    def banish(self, request, pk=None):
        raise AssertionError("it has no URL")


@mcp_viewset(basename="named")
class NamedViewSet(viewsets.ReadOnlyModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer

    @mcp_tool(
        name="get_customer_details",
        title="Get Customer Details",
        description="Retrieve detailed information about a specific customer by their ID",
    )
    def retrieve(self, request, pk=None):
        return super().retrieve(request, pk)


@mcp_viewset(basename="active")
class ActiveViewSet(viewsets.ModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer

    def get_queryset(self):
        queryset = Customer.objects.all()
        is_mcp_request = getattr(self.request, "is_mcp_request", False)
        # Limit MCP clients to some customers only
        if is_mcp_request:
            queryset = queryset.filter(name="Alice")
        return queryset


class CustomerListSerializer(serializers.ListSerializer):
    child = CustomerSerializer()


@mcp_viewset(basename="bulk", actions=["bulk_create"])
class BulkViewSet(viewsets.ModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer

    @mcp_tool(input_serializer=CustomerListSerializer)
    @action(detail=False, methods=["post"])
    def bulk_create(self, request):
        customers = CustomerListSerializer(data=request.data)
        customers.is_valid(raise_exception=True)
        customers.save()
        return Response(customers.data, status=201)
