import static java.util.stream.Collectors.toList;

import com.azure.core.amqp.models.*;
import com.azure.core.util.BinaryData;
import com.azure.messaging.servicebus.*;
import com.azure.messaging.servicebus.models.*;
import java.nio.charset.StandardCharsets;
import java.time.*;
import java.util.*;
import java.util.stream.IntStream;

/** Messages out and back in: sends, batches, schedules, bodies, properties, time to live. */
final class Messages extends Cases {
    static void add() {
        test("send_and_receive_and_delete", () -> {
            var q = standard.queue("java-send");
            try (var s = standard.sender(q); var r = standard.deleting(q)) {
                s.sendMessage(new ServiceBusMessage("one"));
                s.sendMessages(List.of(new ServiceBusMessage("two"), new ServiceBusMessage("three")));
                var got = take(r, 3);
                equal(bodies(got), List.of("one", "two", "three"));
                equal(got.stream().map(ServiceBusReceivedMessage::getSequenceNumber).collect(toList()), List.of(1L, 2L, 3L));
                equal(got.get(0).getDeliveryCount(), 0L);
                equal(r.peekMessage(), null);
            }
        });
        test("send_batch", () -> {
            var q = standard.queue("java-batch");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                var batch = s.createMessageBatch();
                equal(batch.getMaxSizeInBytes(), 262144); // sdk-demands 26
                for (int i = 0; i < 50; i++) equal(batch.tryAddMessage(new ServiceBusMessage("" + i)), true);
                s.sendMessages(batch);
                var got = take(r, 50);
                equal(bodies(got), IntStream.range(0, 50).mapToObj(i -> "" + i).toList());
                got.forEach(r::complete);
            }
        });
        test("schedule_and_cancel", () -> {
            var q = standard.queue("java-schedule");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                var later = OffsetDateTime.now(ZoneOffset.UTC).plusHours(1).withNano(0);
                var far = list(s.scheduleMessages(List.of(new ServiceBusMessage("a"), new ServiceBusMessage("b")), later));
                equal(far.size(), 2);
                var peeked = list(r.peekMessages(10));
                equal(bodies(peeked), List.of("a", "b"));
                equal(peeked.get(0).getState(), ServiceBusMessageState.SCHEDULED);
                equal(peeked.get(0).getScheduledEnqueueTime().toInstant(), later.toInstant());
                s.cancelScheduledMessages(far);
                s.scheduleMessage(new ServiceBusMessage("soon"), OffsetDateTime.now().plus(Duration.ofMillis(300)));
                s.sendMessage(new ServiceBusMessage("by property").setScheduledEnqueueTime(OffsetDateTime.now().plus(Duration.ofMillis(300))));
                equal(bodies(take(r, 2)).stream().sorted().toList(), List.of("by property", "soon"));
            }
        });
        test("every_body", () -> {
            var q = standard.queue("java-bodies");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                s.sendMessage(new ServiceBusMessage(AmqpMessageBody.fromData(new byte[] {0, -1})));
                s.sendMessage(new ServiceBusMessage(AmqpMessageBody.fromSequence(List.of(1, "two", 3L))));
                s.sendMessage(new ServiceBusMessage(AmqpMessageBody.fromValue("text")));
                s.sendMessage(new ServiceBusMessage(AmqpMessageBody.fromValue(7L)));
                s.sendMessage(new ServiceBusMessage(AmqpMessageBody.fromValue(true)));
                s.sendMessage(new ServiceBusMessage(new byte[0]));
                var got = take(r, 6);
                var raw = got.stream().map(m -> m.getRawAmqpMessage().getBody()).toList();
                equal(raw.get(0).getFirstData(), new byte[] {0, -1});
                equal(raw.get(1).getBodyType(), AmqpMessageBodyType.SEQUENCE);
                equal(raw.get(1).getSequence(), List.of(1, "two", 3L));
                equal(raw.get(2).getValue(), "text");
                equal(raw.get(3).getValue(), 7L);
                equal(raw.get(4).getValue(), true);
                equal(raw.get(5).getFirstData(), new byte[0]);
                got.forEach(r::complete);
            }
        });
        test("every_property", () -> {
            var q = standard.queue("java-properties");
            var m = new ServiceBusMessage("body").setMessageId("id").setCorrelationId("cid").setContentType("text/plain").setSubject("subject")
                .setReplyTo("rt").setTo("to").setPartitionKey("pk").setTimeToLive(Duration.ofMinutes(5)).setReplyToSessionId("rts");
            var p = m.getApplicationProperties();
            var all = new HashMap<String, Object>(Map.of("text", "ä€", "empty", "", "yes", true, "byte", (byte) -3, "short", (short) -300, "int", 70_000,
                "long", 1L << 40, "float", 1.5f, "double", 2.25, "char", 'x'));
            all.put("uuid", UUID.fromString("00010203-0405-0607-0809-0a0b0c0d0e0f"));
            all.put("time", new Date(1_767_323_045_678L));
            all.put("null", null);
            all.put("span", Duration.ofSeconds(90));
            all.put("uri", java.net.URI.create("https://example.com/a"));
            all.put("offset", OffsetDateTime.of(2026, 1, 2, 3, 4, 5, 0, ZoneOffset.UTC));
            p.putAll(all);
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                s.sendMessage(m);
                for (int trip = 0; trip < 2; trip++) { // sdk-demands 24
                    var got = one(r);
                    equal(List.of(got.getMessageId(), got.getCorrelationId(), got.getContentType(), got.getSubject(), got.getReplyTo(), got.getTo(), got.getPartitionKey(), got.getReplyToSessionId()),
                        List.of("id", "cid", "text/plain", "subject", "rt", "to", "pk", "rts"));
                    equal(got.getTimeToLive(), Duration.ofMinutes(5));
                    equal(Duration.between(got.getEnqueuedTime(), got.getExpiresAt()), Duration.ofMinutes(5));
                    equal(List.of(got.getSequenceNumber(), got.getDeliveryCount(), got.getState()), List.of(trip + 1L, 0L, ServiceBusMessageState.ACTIVE));
                    equal(got.getApplicationProperties(), all);
                    r.complete(got);
                    if (trip == 0) s.sendMessage(new ServiceBusMessage(got));
                }
            }
        });
        test("raw_message", () -> {
            var q = standard.queue("java-raw");
            var m = new ServiceBusMessage("raw");
            var raw = m.getRawAmqpMessage();
            raw.getHeader().setPriority((short) 7);
            raw.getProperties().setContentEncoding("gzip").setGroupSequence(3L).setUserId("me".getBytes(StandardCharsets.UTF_8));
            raw.getDeliveryAnnotations().put("d", "e");
            raw.getFooter().put("f", "g");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                s.sendMessage(m);
                var got = one(r).getRawAmqpMessage();
                equal(got.getHeader().getPriority(), (short) 7);
                equal(got.getProperties().getContentEncoding(), "gzip");
                equal(got.getProperties().getGroupSequence(), 3L);
                equal(got.getProperties().getUserId(), "me".getBytes(StandardCharsets.UTF_8));
                equal(got.getFooter().get("f"), "g");
                equal(got.getDeliveryAnnotations().get("d"), "e");
                equal(new TreeSet<>(got.getMessageAnnotations().keySet()), new TreeSet<>(List.of("x-opt-enqueued-time", "x-opt-locked-until", "x-opt-sequence-number")));
            }
        });
        test("expiry_into_the_dead_letters", () -> {
            var q = standard.queue("java-ttl", "\"DeadLetteringOnMessageExpiration\":true");
            try (var s = standard.sender(q); var dead = standard.dead(q)) {
                s.sendMessage(new ServiceBusMessage("brief").setTimeToLive(Duration.ofMillis(200)));
                var m = one(dead);
                equal(m.getDeadLetterReason(), "TTLExpiredException");
                equal(m.getDeadLetterErrorDescription(), "The message expired and was dead lettered.");
                dead.complete(m);
            }
        });
        test("duplicates_are_dropped", () -> {
            var q = standard.queue("java-duplicates", "\"RequiresDuplicateDetection\":true");
            try (var s = standard.sender(q); var r = standard.receiver(q)) {
                for (var id : List.of("a", "b", "a", "c")) s.sendMessage(new ServiceBusMessage(id).setMessageId(id));
                equal(bodies(r.peekMessages(10)), List.of("a", "b", "c"));
            }
        });
        test("large_message", () -> {
            var q = premium.queue("java-large", "\"MaxMessageSizeInKilobytes\":102400");
            var body = "0123456789abcdef".repeat(10 << 16).getBytes(StandardCharsets.UTF_8);
            try (var s = premium.sender(q); var r = premium.receiver(q)) {
                s.sendMessage(new ServiceBusMessage(body));
                var m = one(r);
                equal(Arrays.equals(m.getBody().toBytes(), body), true);
                r.complete(m);
            }
        });
        test("prefetch", () -> {
            var q = standard.queue("java-prefetch");
            var texts = IntStream.range(0, 500).mapToObj(i -> "" + i).toList();
            try (var s = standard.sender(q); var r = standard.builder().receiver().queueName(q).prefetchCount(100).buildClient()) {
                s.sendMessages(texts.stream().map(ServiceBusMessage::new).toList());
                var seen = new ArrayList<String>();
                while (seen.size() < 500) {
                    for (var m : take(r, Math.min(50, 500 - seen.size()))) {
                        seen.add(m.getBody().toString());
                        r.complete(m);
                    }
                }
                equal(seen, texts);
            }
        });
        test("processor", () -> {
            var q = standard.queue("java-processor");
            var seen = Collections.synchronizedSet(new TreeSet<String>());
            standard.send(q, IntStream.range(0, 100).mapToObj(i -> "" + i).toArray(String[]::new));
            var p = standard.builder().processor().queueName(q).maxConcurrentCalls(4)
                .processMessage(c -> seen.add(c.getMessage().getBody().toString())).processError(e -> { }).buildProcessorClient();
            p.start();
            try (var r = standard.receiver(q)) {
                until(() -> seen.size() == 100 && r.peekMessage(1) == null); // each was completed when it was processed
            } finally {
                p.close();
            }
        });
        test("close_with_messages_in_flight", () -> {
            var q = standard.queue("java-in-flight", "\"LockDuration\":\"PT5M\"");
            standard.send(q, IntStream.range(0, 300).mapToObj(i -> "" + i).toArray(String[]::new));
            try (var r = standard.plain(q).prefetchCount(100).buildClient()) {
                one(r);
            }
            try (var r = standard.receiver(q)) {
                equal(new HashSet<>(bodies(take(r, 100))).size(), 100);
            }
        });
    }
}
