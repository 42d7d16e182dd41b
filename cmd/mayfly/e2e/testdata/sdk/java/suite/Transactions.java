import com.azure.messaging.servicebus.*;
import com.azure.messaging.servicebus.models.*;
import java.time.OffsetDateTime;
import java.util.*;

/** Transactions, which of the SDKs that run here only this one has. */
final class Transactions extends Cases {
    static void add() {
        test("commit", () -> {
            var q = standard.queue("java-commit");
            standard.send(q, "a", "b");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                var t = s.createTransaction();
                s.sendMessage(new ServiceBusMessage("c"), t);
                s.sendMessages(List.of(new ServiceBusMessage("d"), new ServiceBusMessage("e")), t);
                equal(bodies(r.peekMessages(10, 1)), List.of("a", "b")); // not to be seen yet
                s.commitTransaction(t);
                equal(bodies(r.peekMessages(10, 1)), List.of("a", "b", "c", "d", "e"));
                var t2 = r.createTransaction();
                var got = take(r, 3);
                r.complete(got.get(0), new CompleteOptions().setTransactionContext(t2));
                r.deadLetter(got.get(1), new DeadLetterOptions().setDeadLetterReason("why").setTransactionContext(t2));
                r.abandon(got.get(2), new AbandonOptions().setTransactionContext(t2));
                equal(r.peekMessage(1).getBody().toString(), "a"); // still there
                r.commitTransaction(t2);
                equal(bodies(r.peekMessages(10, 1)), List.of("c", "d", "e"));
                try (var dead = standard.dead(q)) {
                    equal(one(dead).getDeadLetterReason(), "why");
                }
            }
        });
        test("rollback", () -> {
            var q = standard.queue("java-rollback");
            standard.send(q, "a");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                var t = s.createTransaction();
                s.sendMessage(new ServiceBusMessage("b"), t);
                s.rollbackTransaction(t);
                equal(bodies(r.peekMessages(10, 1)), List.of("a"));
                var t2 = r.createTransaction();
                var m = one(r);
                r.complete(m, new CompleteOptions().setTransactionContext(t2));
                r.rollbackTransaction(t2);
                equal(bodies(r.peekMessages(10, 1)), List.of("a"));
            }
        });
        test("schedule_in_a_transaction", () -> {
            var q = standard.queue("java-schedule-transaction");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                var t = s.createTransaction();
                s.scheduleMessage(new ServiceBusMessage("kept"), OffsetDateTime.now().plusHours(1), t);
                s.commitTransaction(t);
                var t2 = s.createTransaction();
                s.scheduleMessage(new ServiceBusMessage("dropped"), OffsetDateTime.now().plusHours(1), t2);
                s.rollbackTransaction(t2);
                equal(bodies(r.peekMessages(10, 1)), List.of("kept"));
            }
        });
        test("across_entities", () -> {
            var from = standard.queue("java-across-from");
            var to = standard.queue("java-across-to");
            standard.send(from, "a", "b");
            var shared = standard.builder().enableCrossEntityTransactions();
            try (var r = shared.receiver().queueName(from).buildClient(); var s = shared.sender().queueName(to).buildClient(); var look = standard.receiver(to)) {
                var got = take(r, 2);
                var t = r.createTransaction();
                r.complete(got.get(0), new CompleteOptions().setTransactionContext(t));
                s.sendMessage(new ServiceBusMessage("moved"), t);
                r.commitTransaction(t);
                until(() -> look.peekMessage(1) != null); // by way of the first queue
                var t2 = r.createTransaction();
                r.complete(got.get(1), new CompleteOptions().setTransactionContext(t2));
                s.sendMessage(new ServiceBusMessage("not moved"), t2);
                r.rollbackTransaction(t2);
                equal(bodies(look.peekMessages(10, 1)), List.of("moved"));
                equal(bodies(r.peekMessages(10, 1)), List.of("b"));
            }
        });
    }
}
