import com.azure.messaging.servicebus.*;
import com.azure.messaging.servicebus.models.*;
import java.time.Duration;
import java.util.*;
import java.util.stream.IntStream;

/** What a receiver does with what it has: settle, renew, defer, peek. */
final class Settling extends Cases {
    static void add() {
        test("complete", () -> {
            var q = standard.queue("java-complete");
            standard.send(q, "a", "b");
            try (var r = standard.receiver(q)) {
                var got = take(r, 2);
                equal(got.get(0).getLockToken().length(), 36);
                got.forEach(r::complete);
                equal(r.peekMessage(1), null);
            }
        });
        test("abandon_with_properties", () -> {
            var q = standard.queue("java-abandon");
            standard.send(q, "a");
            try (var r = standard.receiver(q)) {
                r.abandon(one(r), new AbandonOptions().setPropertiesToModify(Map.of("tried", 1)));
                var m = one(r);
                equal(m.getDeliveryCount(), 1L);
                equal(m.getApplicationProperties(), Map.of("tried", 1));
                r.complete(m);
            }
        });
        test("too_many_tries", () -> {
            var q = standard.queue("java-tries", "\"MaxDeliveryCount\":2");
            standard.send(q, "a");
            try (var r = standard.receiver(q); var dead = standard.dead(q)) {
                r.abandon(one(r));
                r.abandon(one(r));
                var m = one(dead);
                equal(m.getDeadLetterReason(), "MaxDeliveryCountExceeded");
                equal(m.getDeliveryCount(), 2L);
            }
        });
        test("dead_letter", () -> {
            var q = standard.queue("java-dead");
            standard.send(q, "a", "b");
            try (var r = standard.receiver(q); var dead = standard.dead(q)) {
                r.deadLetter(one(r), new DeadLetterOptions().setDeadLetterReason("why").setDeadLetterErrorDescription("because").setPropertiesToModify(Map.of("more", 5)));
                r.deadLetter(one(r));
                var got = take(dead, 2);
                equal(got.get(0).getDeadLetterReason(), "why");
                equal(got.get(0).getDeadLetterErrorDescription(), "because");
                equal(got.get(0).getApplicationProperties().get("more"), 5);
                equal(got.get(1).getDeadLetterReason(), null);
                dead.defer(got.get(0));
                dead.complete(dead.receiveDeferredMessage(got.get(0).getSequenceNumber()));
            }
        });
        test("defer", () -> {
            var q = standard.queue("java-defer");
            standard.send(q, "a", "b", "c", "d");
            try (var r = standard.receiver(q); var gone = standard.deleting(q); var dead = standard.dead(q)) {
                var numbers = new ArrayList<Long>();
                for (var m : take(r, 4)) {
                    r.defer(m, new DeferOptions().setPropertiesToModify(Map.of("aside", true)));
                    numbers.add(m.getSequenceNumber());
                }
                equal(list(r.peekMessages(9, 1)).stream().map(ServiceBusReceivedMessage::getState).distinct().toList(), List.of(ServiceBusMessageState.DEFERRED));
                var back = list(r.receiveDeferredMessageBatch(numbers));
                equal(bodies(back), List.of("a", "b", "c", "d"));
                equal(back.get(0).getApplicationProperties(), Map.of("aside", true));
                r.complete(back.get(0));
                r.abandon(back.get(1));
                r.deadLetter(back.get(2), new DeadLetterOptions().setDeadLetterReason("r"));
                r.renewMessageLock(back.get(3));
                r.defer(back.get(3));
                r.complete(r.receiveDeferredMessage(numbers.get(1)));
                equal(list(r.receiveDeferredMessageBatch(numbers.subList(0, 2))), List.of()); // how the SDK tells "not found"
                equal(bodies(gone.receiveDeferredMessageBatch(List.of(numbers.get(3)))), List.of("d"));
                equal(one(dead).getDeadLetterReason(), "r");
            }
        });
        test("peek", () -> {
            var q = standard.queue("java-peek");
            standard.send(q, IntStream.range(0, 30).mapToObj(i -> "" + i).toArray(String[]::new));
            try (var r = standard.receiver(q)) {
                equal(bodies(r.peekMessages(3)), List.of("0", "1", "2"));
                equal(bodies(r.peekMessages(2)), List.of("3", "4"));
                equal(bodies(r.peekMessages(2, 21)), List.of("20", "21"));
                equal(list(r.peekMessages(1000, 1)).size(), 30);
                equal(r.peekMessage(31), null);
            }
        });
        test("renew_lock", () -> {
            var q = standard.queue("java-renew", "\"LockDuration\":\"PT30S\"");
            standard.send(q, "a");
            try (var r = standard.receiver(q)) {
                var m = one(r);
                until(() -> r.renewMessageLock(m).isAfter(m.getLockedUntil()));
                r.complete(m);
            }
        });
        test("lock_lost", () -> {
            var q = standard.queue("java-lost", "\"LockDuration\":\"PT0.3S\"");
            standard.send(q, "a");
            try (var r = standard.receiver(q); var other = standard.deleting(q)) {
                var m = one(r);
                equal(one(other).getDeliveryCount(), 1L);
                var e = raises(ServiceBusFailureReason.MESSAGE_LOCK_LOST, () -> r.complete(m));
                equal(e.isTransient(), false);
                raises(ServiceBusFailureReason.MESSAGE_LOCK_LOST, () -> r.renewMessageLock(m));
            }
        });
        test("locks_outlive_links", () -> {
            var q = standard.queue("java-outlive", "\"LockDuration\":\"PT1M\"");
            standard.send(q, "a", "b");
            List<ServiceBusReceivedMessage> got;
            try (var r = standard.receiver(q)) {
                got = take(r, 2);
            }
            try (var r = standard.receiver(q)) {
                equal(list(r.receiveMessages(1, Duration.ofMillis(300))), List.of());
                r.complete(got.get(0)); // by $management
                r.renewMessageLock(got.get(1));
                r.abandon(got.get(1));
                equal(bodies(List.of(one(r))), List.of("b"));
            }
        });
        testAlone("after_a_restart", () -> {
            var q = standard.queue("java-restart", "\"LockDuration\":\"PT1M\"");
            var b = standard.builder().retryOptions(new com.azure.core.amqp.AmqpRetryOptions().setMode(com.azure.core.amqp.AmqpRetryMode.FIXED).setMaxRetries(20).setDelay(Duration.ofMillis(300)).setTryTimeout(Duration.ofSeconds(10)));
            try (var s = b.sender().queueName(q).buildClient(); var r = b.receiver().queueName(q).buildClient()) {
                s.sendMessages(List.of(new ServiceBusMessage("a"), new ServiceBusMessage("b")));
                r.complete(one(r));
                Harness.restart();
                s.sendMessage(new ServiceBusMessage("c"));
                var got = take(r, 2);
                equal(bodies(got), List.of("b", "c"));
                got.forEach(r::complete);
            }
        });
    }
}
