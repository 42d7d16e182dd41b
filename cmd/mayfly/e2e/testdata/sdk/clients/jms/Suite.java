import jakarta.jms.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.qpid.jms.JmsConnectionFactory;

/** Qpid JMS, a plain client of AMQP 1.0 with the interface of JMS 3.1, over SASL ANONYMOUS. */
public final class Suite {
    interface With { void run(Session s) throws Exception; }

    static final JmsConnectionFactory factory = new JmsConnectionFactory("amqp://" + Harness.amqp + "?amqp.saslMechanisms=ANONYMOUS&jms.connectTimeout=15000&jms.requestTimeout=15000&jms.sendTimeout=15000&jms.prefetchPolicy.all=10");

    /** Runs with a session of this mode, whose connection is closed afterwards. */
    static void using(int mode, With body) throws Exception {
        try (var c = factory.createConnection()) {
            c.start();
            body.run(c.createSession(mode));
        }
    }

    static String text(Message m) throws Exception { return m == null ? null : m.getBody(String.class); }

    static String next(MessageConsumer c) throws Exception { return text(c.receive(15_000)); }

    static void nothing(MessageConsumer c) throws Exception { Harness.equal(text(c.receive(400)), null); }

    static void send(Session s, Destination d, String... texts) throws Exception {
        try (var p = s.createProducer(d)) {
            for (var t : texts) p.send(s.createTextMessage(t));
        }
    }

    public static void main(String[] args) throws Exception {
        Harness.test("a message keeps what it has", () -> using(Session.AUTO_ACKNOWLEDGE, s -> {
            var q = s.createQueue(Harness.queue("keeps"));
            var m = s.createTextMessage("hello");
            m.setStringProperty("region", "eu");
            m.setIntProperty("n", 7);
            m.setBooleanProperty("yes", true);
            m.setJMSCorrelationID("correlation");
            m.setJMSType("type");
            m.setJMSReplyTo(s.createQueue("answers"));
            var p = s.createProducer(q);
            p.setPriority(7);
            p.setTimeToLive(60_000);
            p.send(m);
            var got = s.createConsumer(q).receive(15_000);
            Harness.equal(List.of(text(got), got.getStringProperty("region"), got.getIntProperty("n"), got.getBooleanProperty("yes"), got.getJMSCorrelationID(), got.getJMSType(), got.getJMSPriority()),
                List.of("hello", "eu", 7, true, "correlation", "type", 7));
            Harness.equal(List.of(got.getJMSMessageID(), ((jakarta.jms.Queue) got.getJMSReplyTo()).getQueueName(), got.getJMSRedelivered(), got.getIntProperty("JMSXDeliveryCount")), List.of(m.getJMSMessageID(), "answers", false, 1));
            Harness.equal(got.getJMSExpiration() - got.getJMSTimestamp(), 60_000L);
        }));

        Harness.test("each kind of message", () -> using(Session.AUTO_ACKNOWLEDGE, s -> {
            var q = s.createQueue(Harness.queue("kinds"));
            var p = s.createProducer(q);
            var c = s.createConsumer(q);
            var bytes = s.createBytesMessage();
            bytes.writeBytes(new byte[] {1, 2, 3});
            p.send(bytes);
            Harness.equal(c.receive(15_000).getBody(byte[].class), new byte[] {1, 2, 3});
            var map = s.createMapMessage();
            map.setInt("i", 5);
            map.setString("s", "x");
            p.send(map);
            var gotMap = (MapMessage) c.receive(15_000);
            Harness.equal(List.of(gotMap.getInt("i"), gotMap.getString("s")), List.of(5, "x"));
            var stream = s.createStreamMessage();
            stream.writeInt(3);
            stream.writeString("z");
            p.send(stream);
            var gotStream = (StreamMessage) c.receive(15_000);
            Harness.equal(List.of(gotStream.readInt(), gotStream.readString()), List.of(3, "z"));
            p.send(s.createMessage());
            Harness.equal(c.receive(15_000).isBodyAssignableTo(String.class), true);
        }));

        Harness.test("recovering gives the messages again", () -> using(Session.CLIENT_ACKNOWLEDGE, s -> {
            var q = s.createQueue(Harness.queue("recover"));
            send(s, q, "0", "1", "2");
            var c = s.createConsumer(q);
            Harness.equal(List.of(next(c), next(c)), List.of("0", "1"));
            s.recover();
            var again = c.receive(15_000);
            Harness.equal(List.of(text(again), again.getJMSRedelivered(), again.getIntProperty("JMSXDeliveryCount")), List.of("0", true, 2));
            Harness.equal(next(c), "1");
            var last = c.receive(15_000);
            Harness.equal(text(last), "2");
            last.acknowledge();
            Harness.until(() -> Harness.counts("recover").isEmpty());
        }));

        Harness.test("what is not acknowledged comes again", () -> {
            var name = Harness.queue("again", "\"LockDuration\":\"PT1S\"");
            using(Session.CLIENT_ACKNOWLEDGE, s -> {
                send(s, s.createQueue(name), "m");
                Harness.equal(next(s.createConsumer(s.createQueue(name))), "m");
            });
            using(Session.AUTO_ACKNOWLEDGE, s -> Harness.equal(next(s.createConsumer(s.createQueue(name))), "m"));
        });

        Harness.test("a rejected message is dead-lettered", () -> using(101, s -> {
            var q = s.createQueue(Harness.queue("rejected"));
            send(s, q, "poison", "good");
            var c = s.createConsumer(q);
            var m = c.receive(15_000);
            Harness.equal(text(m), "poison");
            m.setIntProperty("JMS_AMQP_ACK_TYPE", 2);
            m.acknowledge();
            var good = c.receive(15_000);
            good.acknowledge();
            Harness.equal(text(good), "good");
            var dead = s.createConsumer(s.createQueue("rejected/$DeadLetterQueue")).receive(15_000);
            Harness.equal(text(dead), "poison");
            dead.acknowledge();
        }));

        Harness.test("a transacted session sends all or nothing", () -> using(Session.SESSION_TRANSACTED, s -> {
            var q = s.createQueue(Harness.queue("sends"));
            send(s, q, "never");
            s.rollback();
            send(s, q, "0", "1");
            Harness.equal(Harness.counts("sends"), Map.of());
            s.commit();
            Harness.equal(Harness.counts("sends"), Map.of("active", 2));
            var c = s.createConsumer(q);
            Harness.equal(List.of(next(c), next(c)), List.of("0", "1"));
            s.commit();
            Harness.equal(Harness.counts("sends"), Map.of());
        }));

        // Issue 24, number 3: what the client has settled is released by a rollback.
        Harness.test("a rollback gives the received message again", () -> using(Session.SESSION_TRANSACTED, s -> {
            var q = s.createQueue(Harness.queue("receives"));
            send(s, q, "m");
            s.commit();
            var c = s.createConsumer(q);
            Harness.equal(next(c), "m");
            s.rollback();
            Harness.equal(next(c), "m");
            s.commit();
            nothing(c);
            Harness.equal(Harness.counts("receives"), Map.of());
        }));

        Harness.test("messages expire", () -> using(Session.AUTO_ACKNOWLEDGE, s -> {
            var q = s.createQueue(Harness.queue("expire", "\"DeadLetteringOnMessageExpiration\":true"));
            var p = s.createProducer(q);
            p.setTimeToLive(200);
            p.send(s.createTextMessage("short"));
            Harness.until(() -> Harness.counts("expire").equals(Map.of("deadLetter", 1)));
            nothing(s.createConsumer(q));
        }));

        // Issue 24, number 12.
        Harness.test("browsing takes and locks nothing", () -> using(Session.AUTO_ACKNOWLEDGE, s -> {
            var q = s.createQueue(Harness.queue("browsing"));
            send(s, q, "0", "1", "2");
            var seen = new ArrayList<String>();
            try (var b = s.createBrowser(q)) {
                for (var e = b.getEnumeration(); e.hasMoreElements(); ) seen.add(text((Message) e.nextElement()));
            }
            Harness.equal(seen, List.of("0", "1", "2"));
            Harness.equal(Harness.counts("browsing"), Map.of("active", 3));
            var c = s.createConsumer(q);
            for (int i = 0; i < 3; i++) {
                var m = c.receive(15_000);
                Harness.equal(List.of(text(m), m.getIntProperty("JMSXDeliveryCount")), List.of("" + i, 1));
            }
        }));

        // Issue 24, number 11.
        Harness.test("selectors", () -> using(Session.AUTO_ACKNOWLEDGE, s -> {
            var q = s.createQueue(Harness.queue("selectors"));
            var p = s.createProducer(q);
            for (var region : List.of("us", "eu", "asia", "eu")) {
                var m = s.createTextMessage(region);
                m.setStringProperty("region", region);
                m.setJMSType(region.equals("asia") ? "far" : "near");
                p.send(m);
            }
            try (var c = s.createConsumer(q, "region = 'eu'")) {
                Harness.equal(List.of(next(c), next(c)), List.of("eu", "eu"));
                nothing(c);
            }
            try (var c = s.createConsumer(q, "JMSType = 'far' AND region LIKE 'a%'")) {
                Harness.equal(next(c), "asia");
            }
            Harness.equal(next(s.createConsumer(q)), "us");
        }));

        Harness.test("a subscription of a topic", () -> using(Session.AUTO_ACKNOWLEDGE, s -> {
            Harness.topic("topic", "s");
            var c = s.createConsumer(s.createQueue("topic/Subscriptions/s"));
            send(s, s.createTopic("topic"), "m");
            Harness.equal(next(c), "m");
        }));

        Harness.test("a request and its reply", () -> using(Session.AUTO_ACKNOWLEDGE, s -> {
            var q = s.createQueue(Harness.queue("requests"));
            var m = s.createTextMessage("request");
            m.setJMSReplyTo(s.createQueue(Harness.queue("replies")));
            s.createProducer(q).send(m);
            var got = s.createConsumer(q).receive(15_000);
            var reply = s.createTextMessage("reply");
            reply.setJMSCorrelationID(got.getJMSMessageID());
            s.createProducer(got.getJMSReplyTo()).send(reply);
            var back = s.createConsumer(s.createQueue("replies"), "JMSCorrelationID = '" + m.getJMSMessageID() + "'").receive(15_000);
            Harness.equal(List.of(text(back), back.getJMSCorrelationID()), List.of("reply", m.getJMSMessageID()));
        }));

        Harness.test("a listener gets all, in order", () -> using(Session.AUTO_ACKNOWLEDGE, s -> {
            var q = s.createQueue(Harness.queue("listener"));
            var texts = new ArrayList<String>();
            for (int i = 0; i < 50; i++) texts.add("" + i);
            send(s, q, texts.toArray(String[]::new));
            var got = new ConcurrentLinkedQueue<String>();
            s.createConsumer(q).setMessageListener(m -> {
                try {
                    got.add(text(m));
                } catch (Exception e) {
                    got.add(e.toString());
                }
            });
            Harness.until(() -> got.size() == 50 && Harness.counts("listener").isEmpty());
            Harness.equal(List.copyOf(got), texts);
        }));

        Harness.test("large messages", () -> using(Session.AUTO_ACKNOWLEDGE, s -> {
            var q = s.createQueue(Harness.queue("large"));
            var body = new byte[200_000];
            Arrays.fill(body, (byte) 7);
            var m = s.createBytesMessage();
            m.writeBytes(body);
            s.createProducer(q).send(m);
            Harness.equal(s.createConsumer(q).receive(15_000).getBody(byte[].class), body);
            var big = s.createBytesMessage();
            big.writeBytes(new byte[400_000]);
            Harness.raises(JMSException.class, () -> s.createProducer(q).send(big));
            send(s, q, "still");
            Harness.equal(Harness.counts("large"), Map.of("locked", 1));
        }));

        Harness.test("a queue that does not exist", () -> using(Session.AUTO_ACKNOWLEDGE, s -> {
            Harness.raises(InvalidDestinationException.class, () -> s.createProducer(s.createQueue("nowhere")));
            Harness.raises(InvalidDestinationException.class, () -> s.createConsumer(s.createQueue("nowhere")));
        }));

        Harness.run(args);
    }
}
