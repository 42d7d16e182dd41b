import com.azure.core.util.BinaryData;
import com.azure.messaging.servicebus.*;
import com.azure.messaging.servicebus.models.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;

/** Sessions: accepted by name and next, kept, renewed, lost. */
final class Sessions extends Cases {
    static String queue(String name, String more, String... ids) throws Exception {
        var q = standard.queue(name, "\"RequiresSession\":true" + more);
        try (var s = standard.sender(q)) {
            for (var id : ids) for (int i = 0; i < 2; i++) s.sendMessage(new ServiceBusMessage(id + "-" + i).setSessionId(id));
        }
        return q;
    }

    static void add() {
        test("named_session", () -> {
            var q = queue("java-session", "", "a", "b");
            try (var c = standard.sessions(q); var r = c.acceptSession("b"); var dead = standard.dead(q)) {
                equal(r.getSessionId(), "b");
                var got = take(r, 2);
                equal(bodies(got), List.of("b-0", "b-1"));
                equal(got.get(0).getSessionId(), "b");
                r.complete(got.get(0));
                r.abandon(got.get(1));
                var m = one(r);
                equal(m.getDeliveryCount(), 1L);
                r.deadLetter(m, new DeadLetterOptions().setDeadLetterReason("x"));
                equal(one(dead).getSessionId(), "b");
            }
        });
        test("next_session", () -> {
            var q = queue("java-session-next", "", "a", "b");
            try (var c = standard.sessions(q); var first = c.acceptNextSession(); var second = c.acceptNextSession()) {
                equal(List.of(first.getSessionId(), second.getSessionId()), List.of("a", "b"));
                equal(bodies(take(second, 2)), List.of("b-0", "b-1"));
                equal(bodies(take(first, 2)), List.of("a-0", "a-1"));
            }
        });
        test("next_session_is_waited_for", () -> {
            var q = queue("java-session-wait", "");
            try (var c = standard.sessions(q); var s = standard.sender(q)) {
                var waiting = CompletableFuture.supplyAsync(c::acceptNextSession);
                s.sendMessage(new ServiceBusMessage("x").setSessionId("late"));
                try (var r = waiting.get(30, TimeUnit.SECONDS)) {
                    equal(r.getSessionId(), "late");
                }
            }
        });
        test("no_session_in_time", () -> {
            var q = queue("java-session-timeout", "");
            var brief = new com.azure.core.amqp.AmqpRetryOptions().setMaxRetries(0).setTryTimeout(Duration.ofSeconds(2));
            try (var c = standard.builder().retryOptions(brief).sessionReceiver().queueName(q).buildClient()) {
                try {
                    c.acceptNextSession();
                    throw new AssertionError("there was a session");
                } catch (IllegalStateException | ServiceBusException e) { // as the SDK's own timer or the server's answer is first
                    if (e instanceof ServiceBusException s) equal(s.getReason(), ServiceBusFailureReason.SERVICE_TIMEOUT);
                }
            }
        });
        test("session_is_taken", () -> {
            var q = queue("java-session-taken", "", "a");
            try (var c = standard.sessions(q); var c2 = standard.sessions(q); var r = c.acceptSession("a")) {
                equal(Errors.refused(() -> c2.acceptSession("a")).getErrorCondition().getErrorCondition(), "com.microsoft:session-cannot-be-locked");
            }
            try (var c = standard.sessions(q); var r = c.acceptSession("a")) {
                equal(bodies(take(r, 2)), List.of("a-0", "a-1"));
            }
        });
        test("session_state", () -> {
            var q = queue("java-session-state", "");
            try (var c = standard.sessions(q); var r = c.acceptSession("s")) {
                equal(r.getSessionState(), null);
                r.setSessionState(new byte[] {0, 1, -1});
                equal(r.getSessionState(), new byte[] {0, 1, -1});
                r.setSessionState(null);
                equal(r.getSessionState(), null);
            }
        });
        test("session_renewed", () -> {
            var q = queue("java-session-renew", ",\"LockDuration\":\"PT20S\"");
            try (var c = standard.sessions(q); var r = c.acceptSession("s")) {
                var first = r.renewSessionLock();
                equal(first.isAfter(OffsetDateTime.now()), true);
                until(() -> r.renewSessionLock().isAfter(first));
            }
        });
        test("session_lost", () -> {
            var q = queue("java-session-lost", ",\"LockDuration\":\"PT0.5S\"");
            try (var c = standard.sessions(q); var r = c.acceptSession("a")) {
                var end = r.renewSessionLock();
                until(() -> OffsetDateTime.now().isAfter(end));
                raises(ServiceBusFailureReason.SESSION_LOCK_LOST, r::getSessionState);
                raises(ServiceBusFailureReason.SESSION_LOCK_LOST, r::renewSessionLock);
            }
        });
        test("deferred_in_a_session", () -> {
            var q = queue("java-session-defer", "", "a");
            try (var c = standard.sessions(q); var r = c.acceptSession("a")) {
                var numbers = new ArrayList<Long>();
                for (var m : take(r, 2)) {
                    r.defer(m);
                    numbers.add(m.getSequenceNumber());
                }
                var back = list(r.receiveDeferredMessageBatch(numbers));
                equal(bodies(back), List.of("a-0", "a-1"));
                r.complete(back.get(0));
                r.abandon(back.get(1));
                equal(bodies(r.peekMessages(5, 1)), List.of("a-1"));
            }
        });
        test("session_processor", () -> {
            var q = queue("java-session-processor", "", "a", "b", "c");
            var seen = Collections.synchronizedList(new ArrayList<String>());
            var p = standard.builder().sessionProcessor().queueName(q).maxConcurrentSessions(2)
                .processMessage(m -> seen.add(m.getMessage().getBody().toString())).processError(e -> { }).sessionIdleTimeout(Duration.ofMillis(500)).buildProcessorClient();
            p.start();
            try {
                until(() -> seen.size() == 6);
                for (var id : List.of("a", "b", "c")) equal(seen.indexOf(id + "-0") < seen.indexOf(id + "-1"), true);
            } finally {
                p.close();
            }
        });
    }
}
