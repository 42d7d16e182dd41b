import com.azure.core.exception.*;
import com.azure.core.http.policy.*;
import com.azure.messaging.servicebus.*;
import com.azure.messaging.servicebus.administration.*;
import com.azure.messaging.servicebus.administration.models.*;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import java.net.*;
import java.time.*;
import java.util.*;
import java.util.stream.*;

/** The administration client. */
final class Administration extends Cases {
    static ServiceBusAdministrationClient administrator() {
        var at = URI.create(standard.admin);
        return new ServiceBusAdministrationClientBuilder()
            .connectionString("Endpoint=sb://" + at.getAuthority() + ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE")
            .retryPolicy(new RetryPolicy(new FixedDelay(0, Duration.ofMillis(10))))
            .addPolicy((context, next) -> { // the SDK would speak HTTPS, and forget the port
                try {
                    var u = context.getHttpRequest().getUrl();
                    context.getHttpRequest().setUrl(new URL("http", at.getHost(), at.getPort(), u.getFile()));
                } catch (MalformedURLException e) {
                    throw new AssertionError(e);
                }
                return next.process();
            })
            .buildClient();
    }

    interface Call { void run(); }

    static void fails(Class<? extends HttpResponseException> kind, Call what) {
        try {
            what.run();
        } catch (HttpResponseException e) {
            equal(e.getClass(), kind);
            return;
        }
        throw new AssertionError("nothing failed with " + kind);
    }

    static void add() {
        test("admin_queue", () -> {
            var a = administrator();
            var made = a.createQueue("java-admin-queue", new CreateQueueOptions().setLockDuration(Duration.ofSeconds(30)).setMaxDeliveryCount(7)
                .setSessionRequired(true).setUserMetadata("<é>"));
            for (var q : List.of(made, a.getQueue("java-admin-queue"))) {
                equal(List.of(q.getName(), q.getLockDuration(), q.getMaxDeliveryCount(), q.isSessionRequired(), q.getUserMetadata(), q.getStatus()),
                    List.of("java-admin-queue", Duration.ofSeconds(30), 7, true, "<é>", EntityStatus.ACTIVE));
            }
            equal(a.updateQueue(a.getQueue("java-admin-queue").setMaxDeliveryCount(9)).getMaxDeliveryCount(), 9); // infinite times as sdk-demands 41 has them
            equal(a.getQueueExists("java-admin-queue"), true);
            fails(ResourceExistsException.class, () -> a.createQueue("java-admin-queue"));
            a.deleteQueue("java-admin-queue");
            equal(a.getQueueExists("java-admin-queue"), false);
            fails(ResourceNotFoundException.class, () -> a.getQueue("java-admin-queue"));
        });
        test("admin_runtime", () -> {
            var a = administrator();
            a.createQueue("java-admin-runtime");
            try (var s = standard.sender("java-admin-runtime"); var r = standard.receiver("java-admin-runtime")) {
                for (var x : List.of("x", "y", "z")) s.sendMessage(new ServiceBusMessage(x));
                s.scheduleMessage(new ServiceBusMessage("later"), OffsetDateTime.now().plusHours(1));
                r.deadLetter(take(r, 2).get(0), new DeadLetterOptions());
                var got = a.getQueueRuntimeProperties("java-admin-runtime");
                equal(List.of(got.getActiveMessageCount(), got.getDeadLetterMessageCount(), got.getScheduledMessageCount(), got.getTotalMessageCount()), List.of(2, 1, 1, 4L));
            }
        });
        test("admin_topics_and_rules", () -> {
            var a = administrator();
            var t = "java-admin-topic";
            a.createTopic(t, new CreateTopicOptions().setPartitioningEnabled(true));
            equal(a.getTopic(t).getMaxSizeInMegabytes(), 16 * 1024L); // sdk-demands 28
            a.createSubscription(t, "s", "first", new CreateSubscriptionOptions(), new CreateRuleOptions(new SqlRuleFilter("a = 1")).setAction(new SqlRuleAction("SET b = 2")));
            var exact = new CorrelationRuleFilter("c");
            exact.getProperties().put("t", "x");
            a.createRule(t, "exact", "s", new CreateRuleOptions(exact));
            a.createRule(t, "none", "s", new CreateRuleOptions(new FalseRuleFilter()));
            var rules = a.listRules(t, "s").stream().collect(Collectors.toMap(RuleProperties::getName, x -> x));
            equal(rules.keySet(), Set.of("first", "exact", "none"));
            equal(((SqlRuleAction) rules.get("first").getAction()).getSqlExpression(), "SET b = 2");
            equal(((CorrelationRuleFilter) rules.get("exact").getFilter()).getProperties(), Map.of("t", "x"));
            equal(rules.get("none").getFilter() instanceof FalseRuleFilter, true);
            equal(a.getTopicRuntimeProperties(t).getSubscriptionCount(), 1);
            equal(a.getSubscriptionExists(t, "nothing"), false); // sdk-demands 39
            equal(a.listSubscriptions(t).stream().map(SubscriptionProperties::getSubscriptionName).toList(), List.of("s"));
            a.deleteRule(t, "s", "none");
            a.deleteSubscription(t, "s");
            a.deleteTopic(t);
        });
        test("admin_lists_and_namespace", () -> {
            var a = administrator();
            var names = IntStream.range(0, 120).mapToObj(i -> String.format("java-admin-list-%03d", i)).toList();
            names.forEach(a::createQueue);
            equal(a.listQueues().stream().map(QueueProperties::getName).filter(n -> n.startsWith("java-admin-list-")).toList(), names);
            equal(a.getNamespaceProperties().getMessagingSku(), MessagingSku.STANDARD);
        });
    }
}
