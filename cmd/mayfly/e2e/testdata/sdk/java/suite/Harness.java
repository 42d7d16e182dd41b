import com.azure.core.amqp.AmqpRetryMode;
import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.messaging.servicebus.*;
import com.azure.messaging.servicebus.models.*;
import java.io.*;
import java.net.URI;
import java.net.http.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;

/** What the cases share: where the servers are, entities, and how a case is told. */
final class Harness {
    interface Body { void run() throws Exception; }

    interface With<T> { void run(T t) throws Exception; }

    private record Case(String name, Body body, boolean alone) {}

    private static final List<Case> cases = new ArrayList<>();

    /** Adds a case. */
    static void test(String name, Body body) { cases.add(new Case(name, body, false)); }

    /** Adds a case that no other may run beside. */
    static void testAlone(String name, Body body) { cases.add(new Case(name, body, true)); }

    static final Server standard = new Server("SB");
    static final Server premium = new Server("SB_PREMIUM");

    /** A server under test. */
    static final class Server {
        private static final HttpClient http = HttpClient.newHttpClient();
        final String amqp, admin, api;

        Server(String prefix) {
            amqp = System.getenv(prefix + "_AMQP");
            admin = System.getenv(prefix + "_ADMIN");
            api = System.getenv(prefix + "_API") + "/api/v1";
        }

        ServiceBusClientBuilder builder() {
            return new ServiceBusClientBuilder()
                .connectionString("Endpoint=sb://" + amqp + ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;")
                .retryOptions(new AmqpRetryOptions().setMode(AmqpRetryMode.FIXED).setMaxRetries(1).setDelay(Duration.ofMillis(100)).setTryTimeout(Duration.ofSeconds(15)));
        }

        int status(String method, String path, String body) throws Exception {
            return request(method, path, body).statusCode();
        }

        private HttpResponse<String> request(String method, String path, String body) throws Exception {
            var publisher = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
            return http.send(HttpRequest.newBuilder(URI.create(api + path)).method(method, publisher).build(), HttpResponse.BodyHandlers.ofString());
        }

        private void call(String method, String path, String body) throws Exception {
            var answer = request(method, path, body);
            if (answer.statusCode() >= 300) throw new AssertionError(answer.statusCode() + " " + answer.body());
        }

        /** Makes an entity whose properties are written as JSON without its braces. */
        String make(String kind, String path, String properties) throws Exception {
            call("POST", "/entities", "{\"kind\":\"" + kind + "\",\"path\":\"" + path + "\",\"properties\":{" + properties + "}}");
            return path;
        }

        String queue(String path) throws Exception { return make("queue", path, ""); }

        String queue(String path, String properties) throws Exception { return make("queue", path, properties); }

        String topic(String path, String... subscriptions) throws Exception {
            make("topic", path, "");
            for (var s : subscriptions) make("subscription", path + "/Subscriptions/" + s, "");
            return path;
        }

        void change(String path, String properties) throws Exception {
            call("PATCH", "/entities/" + path, "{\"properties\":{" + properties + "}}");
        }

        ServiceBusSenderClient sender(String queue) { return builder().sender().queueName(queue).buildClient(); }

        ServiceBusReceiverClient receiver(String queue) { return plain(queue).buildClient(); }

        ServiceBusReceiverClient dead(String queue) { return plain(queue).subQueue(SubQueue.DEAD_LETTER_QUEUE).buildClient(); }

        ServiceBusReceiverClient deleting(String queue) {
            return builder().receiver().queueName(queue).receiveMode(ServiceBusReceiveMode.RECEIVE_AND_DELETE).buildClient();
        }

        /** A receiver that renews no lock by itself. */
        ServiceBusClientBuilder.ServiceBusReceiverClientBuilder plain(String queue) {
            return builder().receiver().queueName(queue).maxAutoLockRenewDuration(Duration.ZERO);
        }

        ServiceBusSessionReceiverClient sessions(String queue) {
            return builder().sessionReceiver().queueName(queue).maxAutoLockRenewDuration(Duration.ZERO).buildClient();
        }

        void send(String queue, String... texts) {
            try (var s = sender(queue)) {
                s.sendMessages(Arrays.stream(texts).map(ServiceBusMessage::new).toList());
            }
        }
    }

    static void equal(Object got, Object want) {
        if (!Objects.deepEquals(got, want)) throw new AssertionError("got " + got + ", want " + want);
    }

    /** What is run fails for this reason. */
    static ServiceBusException raises(ServiceBusFailureReason reason, Body what) throws Exception {
        try {
            what.run();
        } catch (ServiceBusException e) {
            if (e.getReason() == reason) return e;
            throw new AssertionError(e.getReason() + " instead of " + reason, e);
        }
        throw new AssertionError("nothing failed with " + reason);
    }

    /** Asks until the answer is true. */
    static void until(Callable<Boolean> what) throws Exception {
        for (long end = System.nanoTime() + 20_000_000_000L; !what.call(); Thread.sleep(20)) {
            if (System.nanoTime() > end) throw new AssertionError("it never came true");
        }
    }

    /** Receives until there are n messages. */
    static List<ServiceBusReceivedMessage> take(ServiceBusReceiverClient receiver, int n) {
        var got = new ArrayList<ServiceBusReceivedMessage>();
        while (got.size() < n) {
            int before = got.size();
            receiver.receiveMessages(n - before, Duration.ofSeconds(20)).forEach(got::add);
            if (got.size() == before) throw new AssertionError(before + " of " + n + " messages came");
        }
        return got;
    }

    static ServiceBusReceivedMessage one(ServiceBusReceiverClient receiver) { return take(receiver, 1).get(0); }

    static List<String> bodies(Iterable<ServiceBusReceivedMessage> messages) {
        var out = new ArrayList<String>();
        messages.forEach(m -> out.add(m.getBody().toString()));
        return out;
    }

    static <T> List<T> list(Iterable<T> all) {
        var out = new ArrayList<T>();
        all.forEach(out::add);
        return out;
    }

    private static final BufferedReader answers = new BufferedReader(new InputStreamReader(System.in));

    /** Has the standard server killed and started again, on the same ports. */
    static void restart() throws IOException {
        say("RESTART");
        equal(answers.readLine(), "ready");
    }

    private static synchronized void say(String text) {
        System.out.println(text);
        System.out.flush();
    }

    private static void attempt(Case c) {
        long began = System.nanoTime();
        try {
            c.body().run();
            say("PASS " + c.name() + " " + (System.nanoTime() - began) / 1_000_000 + "ms");
        } catch (Throwable e) {
            var why = new StringWriter();
            e.printStackTrace(new PrintWriter(why));
            say("FAIL " + c.name() + "\n| " + why.toString().stripTrailing().replace("\n", "\n| "));
        }
    }

    /** Runs the cases, several at a time: each has entities of its own. */
    static void run(Set<String> only) throws Exception {
        var chosen = cases.stream().filter(c -> only.isEmpty() || only.contains(c.name())).toList();
        var pool = Executors.newFixedThreadPool(6);
        for (var c : chosen) if (!c.alone()) pool.submit(() -> attempt(c));
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.HOURS);
        for (var c : chosen) if (c.alone()) attempt(c);
        say("DONE " + chosen.size());
        Runtime.getRuntime().halt(0);
    }
}
