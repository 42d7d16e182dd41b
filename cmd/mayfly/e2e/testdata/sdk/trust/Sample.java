import com.azure.messaging.servicebus.*;
import com.azure.messaging.servicebus.administration.*;

/** A message by AMQP with TLS, and the queues by HTTPS. */
public class Sample {
    public static void main(String[] args) {
        var string = System.getenv("SERVICEBUS");
        var builder = new ServiceBusClientBuilder().connectionString(string);
        try (var sender = builder.sender().queueName("orders").buildClient();
             var receiver = builder.receiver().queueName("orders").buildClient()) {
            sender.sendMessage(new ServiceBusMessage("hello"));
            receiver.receiveMessages(1).forEach(message -> System.out.println(message.getBody()));
        }
        var admin = new ServiceBusAdministrationClientBuilder().connectionString(string).buildClient();
        admin.listQueues().forEach(queue -> System.out.println(queue.getName()));
    }
}
