import java.io.*;
import java.net.URI;
import java.net.http.*;
import java.nio.file.*;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.Pattern;

/** What the cases of a client share: the server, its entities, and how a case is reported. */
final class Harness {
    interface Body { void run() throws Exception; }

    private record Case(String name, Body body) {}

    private static final List<Case> cases = new ArrayList<>();

    /** Registers a case. */
    static void test(String name, Body body) { cases.add(new Case(name, body)); }

    static final String amqp = System.getenv("SB_AMQP"); // host and port, in clear
    static final String api = System.getenv("SB_API") + "/api/v1";
    static final String host = System.getenv("SB_HOST"); // a loopback address with AMQP over TLS on port 5671

    /** Makes the certificate of the server the only one that is trusted. To be called before anything opens a connection. */
    static void trust() throws Exception {
        var store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (var in = new FileInputStream(System.getenv("SB_CA"))) {
            store.setCertificateEntry("mayfly", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        try (var out = new FileOutputStream("trust.p12")) {
            store.store(out, "changeit".toCharArray());
        }
        System.setProperty("javax.net.ssl.trustStore", "trust.p12");
        System.setProperty("javax.net.ssl.trustStorePassword", "changeit");
    }

    private static String call(String method, String path, String body) throws Exception {
        var publisher = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
        var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(api + path)).method(method, publisher).build(), HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() >= 300) throw new AssertionError(answer.statusCode() + " " + answer.body());
        return answer.body();
    }

    /** Creates an entity whose properties are written as JSON without its braces. */
    static String make(String kind, String path, String properties) throws Exception {
        call("POST", "/entities", "{\"kind\":\"" + kind + "\",\"path\":\"" + path + "\",\"properties\":{" + properties + "}}");
        return path;
    }

    static String queue(String path) throws Exception { return make("queue", path, ""); }

    static String queue(String path, String properties) throws Exception { return make("queue", path, properties); }

    static String topic(String path, String... subscriptions) throws Exception {
        make("topic", path, "");
        for (var s : subscriptions) make("subscription", path + "/Subscriptions/" + s, "");
        return path;
    }

    /** Returns how many messages a queue holds, by state, without zeros. */
    static Map<String, Integer> counts(String path) throws Exception {
        var out = new TreeMap<String, Integer>();
        var all = Pattern.compile("\"counts\":\\{([^}]*)}").matcher(call("GET", "/entities/" + path, null));
        if (!all.find()) throw new AssertionError("no counts");
        for (var one = Pattern.compile("\"(\\w+)\":([1-9]\\d*)").matcher(all.group(1)); one.find(); ) out.put(one.group(1), Integer.valueOf(one.group(2)));
        return out;
    }

    static void equal(Object got, Object want) {
        if (!Objects.deepEquals(got, want)) throw new AssertionError("got " + got + ", want " + want);
    }

    /** Checks that what is run fails with this kind of error. */
    static <E extends Throwable> E raises(Class<E> kind, Body what) {
        try {
            what.run();
        } catch (Throwable e) {
            if (kind.isInstance(e)) return kind.cast(e);
            throw new AssertionError(e.getClass().getSimpleName() + " instead of " + kind.getSimpleName(), e);
        }
        throw new AssertionError("nothing failed with " + kind.getSimpleName());
    }

    /** Asks until the answer is true. */
    static void until(Callable<Boolean> what) throws Exception {
        for (long end = System.nanoTime() + 20_000_000_000L; !what.call(); Thread.sleep(20)) {
            if (System.nanoTime() > end) throw new AssertionError("it never came true");
        }
    }

    private static synchronized void say(String text) {
        System.out.println(text);
        System.out.flush();
    }

    private static void attempt(Case c) {
        long began = System.nanoTime();
        var one = Executors.newSingleThreadExecutor(r -> { var t = new Thread(r); t.setDaemon(true); return t; });
        try {
            one.submit(() -> { c.body().run(); return null; }).get(60, TimeUnit.SECONDS);
            say("PASS " + c.name() + " " + (System.nanoTime() - began) / 1_000_000 + "ms");
        } catch (Throwable e) {
            var why = new StringWriter();
            (e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e).printStackTrace(new PrintWriter(why));
            say("FAIL " + c.name() + "\n| " + why.toString().stripTrailing().replace("\n", "\n| "));
        }
    }

    /** Runs the cases, several at a time: each has entities of its own. */
    static void run(String... only) throws Exception {
        var names = Set.of(only);
        var chosen = cases.stream().filter(c -> names.isEmpty() || names.contains(c.name())).toList();
        var pool = Executors.newFixedThreadPool(6);
        for (var c : chosen) pool.submit(() -> attempt(c));
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.HOURS);
        say("DONE " + chosen.size());
        Runtime.getRuntime().halt(0);
    }
}
