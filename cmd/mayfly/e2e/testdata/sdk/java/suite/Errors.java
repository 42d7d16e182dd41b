import com.azure.core.amqp.exception.*;
import com.azure.messaging.servicebus.*;
import com.azure.messaging.servicebus.models.*;
import java.util.*;

/** The SDK's reason for each condition, and what still works afterwards. */
final class Errors extends Cases {
    /** What an accept fails with, which the SDK does not translate. */
    static AmqpException refused(Harness.Body what) throws Exception {
        try {
            what.run();
        } catch (AmqpException e) {
            return e;
        }
        throw new AssertionError("it was not refused");
    }

    static void add() {
        test("nothing_of_that_name", () -> {
            try (var s = standard.sender("java-nothing"); var c = standard.sessions("java-nothing"); var r = standard.receiver("java-nothing")) {
                raises(ServiceBusFailureReason.MESSAGING_ENTITY_NOT_FOUND, () -> s.sendMessage(new ServiceBusMessage("x")));
                equal(refused(() -> c.acceptSession("x")).getErrorCondition(), AmqpErrorCondition.NOT_FOUND);
                raises(ServiceBusFailureReason.MESSAGING_ENTITY_NOT_FOUND, r::peekMessage);
            }
        });
        test("too_large", () -> {
            var q = standard.queue("java-too-large");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                raises(ServiceBusFailureReason.MESSAGE_SIZE_EXCEEDED, () -> s.sendMessage(new ServiceBusMessage(new byte[1_000_000]))); // sdk-demands 26
                s.sendMessage(new ServiceBusMessage("small"));
                equal(bodies(List.of(one(r))), List.of("small"));
            }
        });
        test("disabled", () -> {
            var q = standard.queue("java-disabled");
            standard.change(q, "\"Status\":\"SendDisabled\"");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                raises(ServiceBusFailureReason.MESSAGING_ENTITY_DISABLED, () -> s.sendMessage(new ServiceBusMessage("x")));
                standard.change(q, "\"Status\":\"Active\"");
                s.sendMessage(new ServiceBusMessage("x"));
                equal(bodies(List.of(one(r))), List.of("x"));
            }
        });
        test("nothing_to_find", () -> {
            var q = standard.queue("java-nothing-to-find");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                equal(list(r.receiveDeferredMessageBatch(List.of(77L))), List.of()); // how the SDK tells "not found"
            }
        });
        test("full", () -> {
            var q = premium.queue("java-full", "\"MaxSizeInMegabytes\":1");
            try (var s = premium.sender(q)) {
                raises(ServiceBusFailureReason.QUOTA_EXCEEDED, () -> {
                    for (int i = 0; i < 8; i++) s.sendMessage(new ServiceBusMessage(new byte[200_000]));
                });
            }
        });
        test("sessions_and_plain_receivers", () -> {
            var q = standard.queue("java-plain-session", "\"RequiresSession\":true");
            var p = standard.queue("java-plain");
            try (var c = standard.sessions(p); var s = standard.sender(q)) {
                try {
                    c.acceptSession("x");
                    throw new AssertionError("a session of a queue without sessions");
                } catch (UnsupportedOperationException e) { // what the SDK makes of amqp:not-allowed
                    equal(e.getMessage().contains("does not require sessions"), true);
                }
                raises(ServiceBusFailureReason.GENERAL_ERROR, () -> s.sendMessage(new ServiceBusMessage("no session")));
            }
        });
    }
}
