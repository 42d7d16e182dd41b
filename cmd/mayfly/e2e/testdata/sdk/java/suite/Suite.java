import java.util.Set;

/** Runs every case, or those named, against the servers named by the environment. */
final class Suite {
    public static void main(String[] names) throws Exception {
        Messages.add();
        Settling.add();
        Sessions.add();
        Places.add();
        Errors.add();
        Transactions.add();
        Administration.add();
        Harness.run(Set.of(names));
    }
}
