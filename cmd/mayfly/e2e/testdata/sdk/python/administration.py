"""The administration client."""

import datetime

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.servicebus import ServiceBusMessage
from azure.servicebus.management import (
    ApiVersion, AuthorizationRule, CorrelationRuleFilter, EntityStatus, FalseRuleFilter, ServiceBusAdministrationClient, SqlRuleAction, SqlRuleFilter, TrueRuleFilter,
)

from harness import case, equal, premium, raises, standard, take


def administrator(server=standard, **options):
    client = ServiceBusAdministrationClient.from_connection_string(server.connection_string, retry_total=0, **options)
    client._impl._client._base_url = server.admin  # the SDK would speak HTTPS
    return client


@case
def admin_queue():
    with administrator() as a:
        made = a.create_queue(
            "py-admin-queue", lock_duration=datetime.timedelta(seconds=30), max_delivery_count=7, requires_session=True,
            default_message_time_to_live=datetime.timedelta(hours=2), dead_lettering_on_message_expiration=True, user_metadata="<é>",
        )
        got = a.get_queue("py-admin-queue")
        for q in (made, got):
            equal(
                (q.name, q.lock_duration, q.max_delivery_count, q.requires_session, q.default_message_time_to_live, q.user_metadata, q.status),
                ("py-admin-queue", datetime.timedelta(seconds=30), 7, True, datetime.timedelta(hours=2), "<é>", EntityStatus.ACTIVE),
            )
        got.max_delivery_count, got.status = 9, EntityStatus.RECEIVE_DISABLED
        a.update_queue(got)
        got = a.get_queue("py-admin-queue")
        equal((got.max_delivery_count, got.status, got.lock_duration), (9, EntityStatus.RECEIVE_DISABLED, datetime.timedelta(seconds=30)))
        with raises(ResourceExistsError):
            a.create_queue("py-admin-queue")
        a.delete_queue("py-admin-queue")
        with raises(ResourceNotFoundError):
            a.get_queue("py-admin-queue")
        with raises(ResourceNotFoundError):
            a.delete_queue("py-admin-queue")


@case
def admin_runtime():
    with administrator() as a, standard.client() as c:
        a.create_queue("py-admin-runtime")
        with c.get_queue_sender("py-admin-runtime") as s, c.get_queue_receiver("py-admin-runtime") as r:
            s.send_messages([ServiceBusMessage("x"), ServiceBusMessage("y"), ServiceBusMessage("z")])
            s.schedule_messages(ServiceBusMessage("later"), datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1))
            x, _ = take(r, 2)
            r.dead_letter_message(x)
            got = a.get_queue_runtime_properties("py-admin-runtime")
            # sdk-demands 37: exact with a lock, a dead letter and a scheduled message at once.
            equal(
                (got.active_message_count, got.dead_letter_message_count, got.scheduled_message_count, got.total_message_count),
                (2, 1, 1, 4),
            )
            equal(got.size_in_bytes > 0 and got.created_at_utc <= got.accessed_at_utc, True)


@case
def admin_topics_and_rules():
    with administrator() as a:
        a.create_topic("py-admin-topic", enable_partitioning=True)
        equal(a.get_topic("py-admin-topic").max_size_in_megabytes, 16 * 1024)  # sdk-demands 28
        a.create_subscription("py-admin-topic", "s", auto_delete_on_idle=datetime.timedelta(minutes=10))
        equal(a.get_subscription("py-admin-topic", "s").auto_delete_on_idle, datetime.timedelta(minutes=10))
        equal([r.name for r in a.list_rules("py-admin-topic", "s")], ["$Default"])
        a.create_rule("py-admin-topic", "s", "sql", filter=SqlRuleFilter("a = @p", {"p": "v"}), action=SqlRuleAction("SET b = 1"))
        a.create_rule("py-admin-topic", "s", "exact", filter=CorrelationRuleFilter(correlation_id="c", properties={"n": 5, "t": "x", "b": True, "f": 1.5}))
        a.create_rule("py-admin-topic", "s", "all", filter=TrueRuleFilter())
        a.create_rule("py-admin-topic", "s", "none", filter=FalseRuleFilter())
        rules = {r.name: r for r in a.list_rules("py-admin-topic", "s")}
        equal(sorted(rules), ["$Default", "all", "exact", "none", "sql"])
        equal((rules["sql"].filter.sql_expression, rules["sql"].filter.parameters, rules["sql"].action.sql_expression), ("a = @p", {"p": "v"}, "SET b = 1"))
        equal((rules["exact"].filter.correlation_id, rules["exact"].filter.properties), ("c", {"n": 5, "t": "x", "b": True, "f": 1.5}))
        equal((type(rules["all"].filter), type(rules["none"].filter)), (TrueRuleFilter, FalseRuleFilter))
        rule = rules["sql"]
        rule.filter = SqlRuleFilter("c = 2")
        a.update_rule("py-admin-topic", "s", rule)
        equal(a.get_rule("py-admin-topic", "s", "sql").filter.sql_expression, "c = 2")
        a.delete_rule("py-admin-topic", "s", "sql")
        with raises(ResourceNotFoundError):
            a.get_rule("py-admin-topic", "s", "sql")
        equal(a.get_topic_runtime_properties("py-admin-topic").subscription_count, 1)
        equal(a.get_subscription_runtime_properties("py-admin-topic", "s").active_message_count, 0)
        with raises(ResourceNotFoundError):
            a.get_subscription("py-admin-topic", "nothing")
        a.delete_subscription("py-admin-topic", "s")
        a.delete_topic("py-admin-topic")


@case
def admin_lists():
    with administrator() as a:
        names = [f"py-admin-list-{i:03}" for i in range(120)]
        for name in names:
            a.create_queue(name)
        equal([q.name for q in a.list_queues() if q.name.startswith("py-admin-list-")], names)  # over a page's end
        equal(sum(q.name.startswith("py-admin-list-") for q in a.list_queues_runtime_properties()), 120)


@case
def admin_forwarding():
    with administrator() as a:
        a.create_queue("py-admin-to")
        a.create_queue("py-admin-from", forward_to="py-admin-to", forward_dead_lettered_messages_to="py-admin-to")
        got = a.get_queue("py-admin-from")
        equal((got.forward_to.rsplit("/", 1)[-1], got.forward_dead_lettered_messages_to.rsplit("/", 1)[-1]), ("py-admin-to", "py-admin-to"))
        a.update_queue(got)


@case
def admin_namespace():
    with administrator() as a:
        got = a.get_namespace_properties()
        equal((got.messaging_sku, got.namespace_type, got.messaging_units), ("Standard", "Messaging", None))  # sdk-demands 31


@case
def admin_accessed():
    never = datetime.datetime(1, 1, 1, tzinfo=datetime.timezone.utc)
    with administrator() as a, standard.client() as c:
        a.create_queue("py-admin-accessed")
        a.create_topic("py-admin-accessed-topic")
        # sdk-demands 29
        equal(a.get_queue_runtime_properties("py-admin-accessed").accessed_at_utc, never)
        equal(a.get_topic_runtime_properties("py-admin-accessed-topic").accessed_at_utc, never)
        a.create_subscription("py-admin-accessed-topic", "s")  # an access of its topic (RT-2)
        got = a.get_topic_runtime_properties("py-admin-accessed-topic")
        equal(got.accessed_at_utc >= got.created_at_utc, True)
        s = a.get_subscription_runtime_properties("py-admin-accessed-topic", "s")
        equal(s.accessed_at_utc, s.created_at_utc)
        for name, sender in (("py-admin-accessed", c.get_queue_sender), ("py-admin-accessed-topic", c.get_topic_sender)):
            with sender(name) as to:
                to.schedule_messages(ServiceBusMessage("later"), datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1))
        got = a.get_queue_runtime_properties("py-admin-accessed")
        equal(got.accessed_at_utc >= got.created_at_utc, True)
        got = a.get_topic_runtime_properties("py-admin-accessed-topic")
        equal(got.accessed_at_utc >= got.created_at_utc, True)
        equal(got.scheduled_message_count, 1)
        equal(got.size_in_bytes > 0, True)  # sdk-demands 37


@case
def admin_authorization_rules():
    rule = AuthorizationRule(
        type="SharedAccessAuthorizationRule", claim_type="SharedAccessKey", claim_value="None", rights=["Manage", "Send", "Listen"],
        key_name="all", primary_key="cHJpbWFyeQ==", secondary_key="c2Vjb25kYXJ5",
    )
    with administrator() as a:
        a.create_queue("py-admin-authorized", authorization_rules=[rule])
        q = a.get_queue("py-admin-authorized")
        (got,) = q.authorization_rules
        equal((got.key_name, sorted(got.rights), got.primary_key, got.secondary_key), ("all", ["Listen", "Manage", "Send"], "cHJpbWFyeQ==", "c2Vjb25kYXJ5"))
        equal((got.created_at_utc, got.modified_at_utc), (None, None))  # sdk-demands 30
        a.update_queue(q)
        (again,) = a.get_queue("py-admin-authorized").authorization_rules
        equal(again.key_name, "all")


@case
def admin_filter_counts():
    with administrator() as a:
        a.create_topic("py-admin-counts")
        for name in ("s", "t"):
            a.create_subscription("py-admin-counts", name)  # each with its $Default

        def counts():  # sdk-demands 34
            got = a.get_topic_runtime_properties("py-admin-counts")
            return got.sql_filter_count, got.correlation_filter_count

        equal(counts(), (2, 0))
        a.create_rule("py-admin-counts", "s", "exact", filter=CorrelationRuleFilter(correlation_id="c"))
        a.create_rule("py-admin-counts", "t", "sql", filter=SqlRuleFilter("a = 1"))
        equal(counts(), (3, 1))
        a.delete_rule("py-admin-counts", "t", "$Default")
        equal(counts(), (2, 1))
        a.delete_subscription("py-admin-counts", "s")
        equal(counts(), (1, 0))


@case
def admin_texts():
    with administrator() as a:
        q = a.create_queue("py-admin-texts")
        t = a.create_topic("py-admin-texts-topic")
        s = a.create_subscription("py-admin-texts-topic", "s")
        q.requires_session = s.requires_session = True
        t.enable_partitioning = True
        # sdk-demands 36
        with raises(HttpResponseError, "The value for the RequiresSession property of an existing Queue cannot be changed"):
            a.update_queue(q)
        with raises(HttpResponseError, "The value for the RequiresSession property of an existing Subscription cannot be changed"):
            a.update_subscription("py-admin-texts-topic", s)
        with raises(HttpResponseError, "Partitioning cannot be changed for Topic. "):
            a.update_topic(t)
        equal(a.get_queue("py-admin-texts").requires_session, False)


@case
def admin_odd_name():
    name = "py-txt/.-_123"  # sdk-demands 38
    with administrator() as a, standard.client() as c:
        a.create_queue(name)
        equal([x.name for x in a.list_queues() if x.name == name], [name])
        with c.get_queue_sender(name) as s, c.get_queue_receiver(name) as r:
            s.send_messages(ServiceBusMessage("x"))
            r.complete_message(take(r, 1)[0])
        equal(a.get_queue_runtime_properties(name).total_message_count, 0)
        a.create_topic(name + "/topic")
        a.create_subscription(name + "/topic", "s.-_123")
        equal(a.get_subscription(name + "/topic", "s.-_123").name, "s.-_123")
        a.delete_topic(name + "/topic")
        a.delete_queue(name)


@case
def admin_message_size():
    # sdk-demands 40
    for version in (ApiVersion.V2021_05, ApiVersion.V2017_04):
        with administrator(api_version=version) as a:
            with raises(HttpResponseError):
                a.create_queue("py-admin-large", max_message_size_in_kilobytes=1024)
            with raises(HttpResponseError):
                a.create_topic("py-admin-large", max_message_size_in_kilobytes=1024)
            with raises(ResourceNotFoundError):
                a.get_queue("py-admin-large")
    with administrator(premium) as a:
        equal(a.create_queue("py-admin-large", max_message_size_in_kilobytes=102400).max_message_size_in_kilobytes, 102400)
        q = a.create_queue("py-admin-larger", max_message_size_in_kilobytes=1024)
        q.max_message_size_in_kilobytes = 102401
        with raises(HttpResponseError):
            a.update_queue(q)
        equal(a.get_queue("py-admin-larger").max_message_size_in_kilobytes, 1024)
