import com.azure.messaging.servicebus.*;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import java.util.List;
import java.util.concurrent.Callable;

/** The words of the harness, for the classes that hold cases. */
class Cases {
    static final Harness.Server standard = Harness.standard, premium = Harness.premium;

    static void test(String name, Harness.Body body) { Harness.test(name, body); }

    static void testAlone(String name, Harness.Body body) { Harness.testAlone(name, body); }

    static void equal(Object got, Object want) { Harness.equal(got, want); }

    static ServiceBusException raises(ServiceBusFailureReason reason, Harness.Body what) throws Exception { return Harness.raises(reason, what); }

    static void until(Callable<Boolean> what) throws Exception { Harness.until(what); }

    static List<ServiceBusReceivedMessage> take(ServiceBusReceiverClient receiver, int n) { return Harness.take(receiver, n); }

    static ServiceBusReceivedMessage one(ServiceBusReceiverClient receiver) { return Harness.one(receiver); }

    static List<String> bodies(Iterable<ServiceBusReceivedMessage> messages) { return Harness.bodies(messages); }

    static <T> List<T> list(Iterable<T> all) { return Harness.list(all); }
}
