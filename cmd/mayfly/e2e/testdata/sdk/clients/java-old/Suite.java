import com.microsoft.azure.servicebus.*;
import com.microsoft.azure.servicebus.management.*;
import com.microsoft.azure.servicebus.primitives.*;
import com.microsoft.azure.servicebus.rules.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;

/**
 * com.microsoft.azure:azure-servicebus 3.6.7: always TLS, always the ports 5671 and 443. Its delivery tags have 36 bytes, and its
 * request links have their answers' link in the same session (issue 24, number 14). It counts deliveries from one.
 */
public final class Suite {
    static ConnectionStringBuilder at(String path) {
        return new ConnectionStringBuilder("Endpoint=sb://" + Harness.host + "/;EntityPath=" + path + ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE");
    }

    static ManagementClient administration() {
        return new ManagementClient(new ConnectionStringBuilder("Endpoint=sb://" + Harness.host + "/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE"));
    }

    static IMessageSender sender(String path) throws Exception { return ClientFactory.createMessageSenderFromConnectionStringBuilder(at(path)); }

    static IMessageReceiver receiver(String path) throws Exception { return ClientFactory.createMessageReceiverFromConnectionStringBuilder(at(path), ReceiveMode.PEEKLOCK); }

    static String text(IMessage m) { return m == null ? null : new String(m.getMessageBody().getBinaryData().get(0)); }

    static List<String> texts(Iterable<IMessage> all) {
        var out = new ArrayList<String>();
        for (var m : all) out.add(text(m));
        return out;
    }

    static Message message(String body, String session) {
        var m = new Message(body);
        m.setSessionId(session);
        return m;
    }

    /** Receives until there are n messages. */
    static List<IMessage> take(IMessageReceiver r, int n) throws Exception {
        var got = new ArrayList<IMessage>();
        while (got.size() < n) {
            var some = r.receiveBatch(n - got.size(), Duration.ofSeconds(15));
            if (some == null) throw new AssertionError(got.size() + " of " + n + " messages came");
            got.addAll(some);
        }
        return got;
    }

    static IMessage one(IMessageReceiver r) throws Exception { return take(r, 1).get(0); }

    public static void main(String[] args) throws Exception {
        Harness.trust();

        Harness.test("a message keeps what it has", () -> {
            var q = Harness.queue("keeps");
            var sent = new Message("hello");
            sent.setMessageId("id");
            sent.setLabel("label");
            sent.setCorrelationId("correlation");
            sent.setContentType("text/plain");
            sent.setReplyTo("answers");
            sent.setTo("somewhere");
            sent.setTimeToLive(Duration.ofSeconds(60));
            sent.setProperties(Map.of("n", 1, "text", "x", "yes", true, "long", 1L << 40));
            sender(q).send(sent);
            var r = receiver(q);
            var m = one(r);
            Harness.equal(List.of(text(m), m.getMessageId(), m.getLabel(), m.getCorrelationId(), m.getContentType(), m.getReplyTo(), m.getTo(), m.getTimeToLive()),
                List.of("hello", "id", "label", "correlation", "text/plain", "answers", "somewhere", Duration.ofSeconds(60)));
            Harness.equal(m.getProperties(), sent.getProperties());
            Harness.equal(List.of(m.getSequenceNumber(), m.getDeliveryCount(), Duration.between(m.getEnqueuedTimeUtc(), m.getExpiresAtUtc())), List.of(1L, 1L, Duration.ofSeconds(60)));
            r.complete(m.getLockToken());
            Harness.equal(Harness.counts(q), Map.of());
        });

        Harness.test("batches stay in order", () -> {
            var q = Harness.queue("order");
            var batch = new ArrayList<IMessage>();
            var want = new ArrayList<String>();
            for (int i = 0; i < 30; i++) {
                batch.add(new Message("" + i));
                want.add("" + i);
            }
            sender(q).sendBatch(batch);
            var r = receiver(q);
            r.setPrefetchCount(10);
            var got = take(r, 30);
            Harness.equal(texts(got), want);
            for (var m : got) r.complete(m.getLockToken());
            Harness.equal(Harness.counts(q), Map.of());
        });

        Harness.test("settling each way", () -> {
            var q = Harness.queue("settling");
            sender(q).send(new Message("m"));
            var r = receiver(q);
            r.abandon(one(r).getLockToken(), Map.of("tried", "yes"));
            var m = one(r);
            Harness.equal(List.of(m.getDeliveryCount(), m.getProperties()), List.of(2L, Map.of("tried", "yes")));
            var before = m.getLockedUntilUtc();
            Thread.sleep(20);
            Harness.equal(r.renewMessageLock(m).isAfter(before), true);
            r.defer(m.getLockToken());
            Harness.equal(Harness.counts(q), Map.of("deferred", 1));
            m = r.receiveDeferredMessage(m.getSequenceNumber());
            Harness.equal(List.of(text(m), m.getDeliveryCount()), List.of("m", 3L));
            r.deadLetter(m.getLockToken(), "why", "because");
            var d = receiver(EntityNameHelper.formatDeadLetterPath(q));
            m = one(d);
            Harness.equal(List.of(text(m), m.getProperties().get("DeadLetterReason"), m.getProperties().get("DeadLetterErrorDescription")), List.of("m", "why", "because"));
            d.complete(m.getLockToken());
            Harness.equal(Harness.counts(q), Map.of());
        });

        Harness.test("the last delivery ends in the dead-letter queue", () -> {
            var q = Harness.queue("last", "\"MaxDeliveryCount\":2");
            sender(q).send(new Message("poison"));
            var r = receiver(q);
            for (int i = 0; i < 2; i++) {
                var m = one(r);
                Harness.equal(m.getDeliveryCount(), i + 1L);
                r.abandon(m.getLockToken());
            }
            var m = one(receiver(EntityNameHelper.formatDeadLetterPath(q)));
            Harness.equal(List.of(text(m), m.getProperties().get("DeadLetterReason")), List.of("poison", "MaxDeliveryCountExceeded"));
        });

        Harness.test("a lost lock", () -> {
            var q = Harness.queue("lost", "\"LockDuration\":\"PT1S\"");
            sender(q).send(new Message("m"));
            var r = receiver(q);
            var m = one(r);
            Thread.sleep(1300);
            Harness.raises(MessageLockLostException.class, () -> r.complete(m.getLockToken()));
            var again = one(r);
            Harness.equal(List.of(text(again), again.getDeliveryCount()), List.of("m", 2L));
        });

        Harness.test("schedules are kept and cancelled", () -> {
            var q = Harness.queue("schedules");
            var s = sender(q);
            s.cancelScheduledMessage(s.scheduleMessage(new Message("never"), Instant.now().plusSeconds(3600)));
            var at = Instant.now().plusMillis(1500).truncatedTo(java.time.temporal.ChronoUnit.MILLIS);
            s.scheduleMessage(new Message("kept"), at);
            Harness.equal(Harness.counts(q), Map.of("scheduled", 1));
            var r = receiver(q);
            var m = one(r);
            Harness.equal(List.of(text(m), m.getEnqueuedTimeUtc().isBefore(at)), List.of("kept", false));
            r.complete(m.getLockToken());
            Harness.equal(Harness.counts(q), Map.of());
        });

        Harness.test("peeking goes on, and starts at a number", () -> {
            var q = Harness.queue("peeking");
            sender(q).sendBatch(List.of(new Message("0"), new Message("1"), new Message("2")));
            var r = receiver(q);
            Harness.equal(text(r.peek()), "0");
            Harness.equal(texts(r.peekBatch(5)), List.of("1", "2"));
            Harness.equal(texts(r.peekBatch(2, 2)), List.of("1", "2"));
            Harness.equal(Harness.counts(q), Map.of("active", 3));
        });

        Harness.test("receive and delete", () -> {
            var q = Harness.queue("deletes");
            sender(q).sendBatch(List.of(new Message("0"), new Message("1"), new Message("2")));
            var r = ClientFactory.createMessageReceiverFromConnectionStringBuilder(at(q), ReceiveMode.RECEIVEANDDELETE);
            Harness.equal(texts(take(r, 3)), List.of("0", "1", "2"));
            Harness.equal(Harness.counts(q), Map.of());
        });

        Harness.test("a session has order, state and a lock", () -> {
            var q = Harness.queue("session", "\"RequiresSession\":true");
            var s = sender(q);
            for (var id : List.of("a", "b")) for (int i = 0; i < 3; i++) s.send(message(id + i, id));
            var a = ClientFactory.acceptSessionFromConnectionStringBuilder(at(q), "a", ReceiveMode.PEEKLOCK);
            Harness.equal(a.getState(), null);
            a.setState("state".getBytes());
            Harness.equal(new String(a.getState()), "state");
            var before = a.getLockedUntilUtc();
            Thread.sleep(20);
            a.renewSessionLock();
            Harness.equal(a.getLockedUntilUtc().isAfter(before), true);
            var got = take(a, 3);
            Harness.equal(texts(got), List.of("a0", "a1", "a2"));
            for (var m : got) a.complete(m.getLockToken());
            var next = ClientFactory.acceptSessionFromConnectionStringBuilder(at(q), null, ReceiveMode.PEEKLOCK);
            Harness.equal(next.getSessionId(), "b");
            Harness.equal(texts(take(next, 3)), List.of("b0", "b1", "b2"));
            a.close();
            a = ClientFactory.acceptSessionFromConnectionStringBuilder(at(q), "a", ReceiveMode.PEEKLOCK);
            Harness.equal(new String(a.getState()), "state");
        });

        Harness.test("rules decide what a subscription gets", () -> {
            var t = Harness.topic("rules", "s");
            var client = new SubscriptionClient(at(t + "/subscriptions/s"), ReceiveMode.PEEKLOCK);
            client.addRule("sql", new SqlFilter("n > 3"));
            var one = new CorrelationFilter();
            one.setLabel("one");
            client.addRule("correlation", one);
            client.removeRule("$Default");
            var rules = new TreeMap<String, String>();
            for (var rule : client.getRules()) rules.put(rule.getName(), rule.getFilter() instanceof SqlFilter f ? f.getSqlExpression() : ((CorrelationFilter) rule.getFilter()).getLabel());
            Harness.equal(rules, Map.of("sql", "n > 3", "correlation", "one"));
            var topic = new TopicClient(at(t));
            for (int n : new int[] {1, 2, 5}) {
                var m = new Message("" + n);
                m.setLabel(n == 1 ? "one" : "more");
                m.setProperties(Map.of("n", n));
                topic.send(m);
            }
            var got = new ConcurrentLinkedQueue<String>();
            client.registerMessageHandler(new IMessageHandler() {
                public CompletableFuture<Void> onMessageAsync(IMessage m) {
                    got.add(text(m));
                    return CompletableFuture.completedFuture(null);
                }

                public void notifyException(Throwable e, ExceptionPhase phase) { got.add(e.toString()); }
            }, new MessageHandlerOptions(1, true, Duration.ofMinutes(1)), Executors.newSingleThreadExecutor());
            Harness.until(() -> got.size() == 2 && Harness.counts(t + "/Subscriptions/s").isEmpty());
            Harness.equal(List.copyOf(got), List.of("1", "5"));
            client.close();
        });

        Harness.test("transactions", () -> {
            var q = Harness.queue("transactions");
            var factory = MessagingFactory.createFromConnectionStringBuilder(at(q));
            var s = ClientFactory.createMessageSenderFromEntityPath(factory, q);
            var r = ClientFactory.createMessageReceiverFromEntityPath(factory, q, ReceiveMode.PEEKLOCK);
            s.send(new Message("first"));
            var m = one(r);
            var back = factory.startTransaction();
            s.send(new Message("never"), back);
            r.complete(m.getLockToken(), back);
            factory.endTransaction(back, false);
            Harness.equal(Harness.counts(q), Map.of("locked", 1)); // issue 24, number 3
            var kept = factory.startTransaction();
            s.send(new Message("second"), kept);
            r.complete(m.getLockToken(), kept);
            factory.endTransaction(kept, true);
            Harness.equal(text(one(r)), "second");
            Harness.equal(Harness.counts(q), Map.of("locked", 1));
        });

        Harness.test("large messages", () -> {
            var q = Harness.queue("large");
            var s = sender(q);
            var body = new byte[200_000];
            Arrays.fill(body, (byte) 7);
            s.send(new Message(body));
            Harness.equal(Arrays.equals(one(receiver(q)).getMessageBody().getBinaryData().get(0), body), true);
            Harness.raises(PayloadSizeExceededException.class, () -> s.send(new Message(new byte[400_000])));
        });

        Harness.test("administration", () -> {
            var a = administration();
            var d = new QueueDescription("made");
            d.setLockDuration(Duration.ofSeconds(30));
            d.setMaxDeliveryCount(3);
            a.createQueue(d);
            Harness.raises(MessagingEntityAlreadyExistsException.class, () -> a.createQueue("made"));
            var got = a.getQueue("made");
            Harness.equal(List.of(got.getLockDuration(), got.getMaxDeliveryCount()), List.of(Duration.ofSeconds(30), 3));
            got.setMaxDeliveryCount(4);
            a.updateQueue(got);
            Harness.equal(a.getQueue("made").getMaxDeliveryCount(), 4);
            sender("made").send(new Message("m"));
            Harness.equal(a.getQueueRuntimeInfo("made").getMessageCountDetails().getActiveMessageCount(), 1L);
            a.createTopic("made-topic");
            a.createSubscription("made-topic", "s");
            a.createRule("made-topic", "s", new RuleDescription("r", new SqlFilter("n > 3")));
            Harness.equal(((SqlFilter) a.getRule("made-topic", "s", "r").getFilter()).getSqlExpression(), "n > 3");
            a.deleteQueue("made");
            Harness.equal(a.queueExists("made"), false);
            Harness.raises(MessagingEntityNotFoundException.class, () -> a.getQueue("made"));
        });

        Harness.test("a queue that does not exist", () ->
            Harness.raises(MessagingEntityNotFoundException.class, () -> sender("nowhere").send(new Message("m"))));

        Harness.run(args);
    }
}
