import com.azure.messaging.servicebus.*;
import com.azure.messaging.servicebus.administration.models.*;
import com.azure.messaging.servicebus.models.*;
import java.util.*;
import java.util.stream.*;

/** Topics and subscriptions, rules, forwarding, entities that delete themselves. */
final class Places extends Cases {
    static ServiceBusReceiverClient subscription(String topic, String name) {
        return standard.builder().receiver().topicName(topic).subscriptionName(name).buildClient();
    }

    static void add() {
        test("topic_and_subscriptions", () -> {
            var t = standard.topic("java-topic", "a", "b");
            try (var s = standard.builder().sender().topicName(t).buildClient(); var a = subscription(t, "a"); var b = subscription(t, "b")) {
                s.sendMessages(List.of(new ServiceBusMessage("x"), new ServiceBusMessage("y")));
                equal(bodies(take(a, 2)), List.of("x", "y"));
                equal(bodies(take(b, 2)), List.of("x", "y"));
            }
        });
        test("rules_are_managed", () -> {
            var t = standard.topic("java-rules", "s");
            try (var rules = standard.builder().ruleManager().topicName(t).subscriptionName("s").buildClient();
                 var s = standard.builder().sender().topicName(t).buildClient(); var r = subscription(t, "s")) {
                equal(list(rules.listRules()).stream().map(RuleProperties::getName).toList(), List.of("$Default"));
                rules.deleteRule("$Default");
                rules.createRule("sql", new CreateRuleOptions(new SqlRuleFilter("price > 10")).setAction(new SqlRuleAction("SET seen = 'yes'")));
                var exact = new CorrelationRuleFilter("c");
                exact.getProperties().put("n", 5);
                rules.createRule("exact", new CreateRuleOptions(exact));
                rules.createRule("none", new CreateRuleOptions(new FalseRuleFilter()));
                var byName = list(rules.listRules()).stream().collect(Collectors.toMap(RuleProperties::getName, x -> x));
                equal(byName.keySet(), Set.of("sql", "exact", "none"));
                equal(((SqlRuleFilter) byName.get("sql").getFilter()).getSqlExpression(), "price > 10");
                equal(((SqlRuleAction) byName.get("sql").getAction()).getSqlExpression(), "SET seen = 'yes'");
                equal(((CorrelationRuleFilter) byName.get("exact").getFilter()).getCorrelationId(), "c");
                equal(((SqlRuleFilter) byName.get("none").getFilter()).getSqlExpression(), "1=0"); // the SDK sends it so
                raises(ServiceBusFailureReason.MESSAGING_ENTITY_ALREADY_EXISTS, () -> rules.createRule("none", new CreateRuleOptions(new FalseRuleFilter())));
                for (int price : new int[] {5, 15}) {
                    var m = new ServiceBusMessage("" + price);
                    m.getApplicationProperties().put("price", price);
                    s.sendMessage(m);
                }
                var got = one(r);
                equal(got.getBody().toString(), "15");
                equal(got.getApplicationProperties().get("seen"), "yes");
            }
        });
        test("forwarding", () -> {
            var last = standard.queue("java-forward-to");
            var first = standard.queue("java-forward-from", "\"ForwardTo\":\"" + last + "\"");
            try (var r = standard.receiver(last)) {
                standard.send(last, "direct");
                standard.send(first, "x");
                var got = take(r, 2);
                equal(bodies(got), List.of("direct", "x"));
                equal(got.get(1).getEnqueuedSequenceNumber(), 1L);
                equal(got.get(1).getSequenceNumber(), 2L);
            }
        });
        test("deletes_itself_when_idle", () -> {
            var q = standard.queue("java-idle", "\"AutoDeleteOnIdle\":\"PT1S\"");
            until(() -> standard.status("GET", "/entities/" + q, null) == 404);
            try (var s = standard.sender(q)) {
                raises(ServiceBusFailureReason.MESSAGING_ENTITY_NOT_FOUND, () -> s.sendMessage(new ServiceBusMessage("x")));
            }
        });
    }
}
