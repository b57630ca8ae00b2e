package locks;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import net.javacrumbs.shedlock.support.ShortKeepAlive;
import net.javacrumbs.shedlock.support.Utils;

/**
 * An instance of a Spring service, as far as ShedLock is concerned. Each line on stdin is a number and a command, each line on
 * stdout that number and the answer. Ends when stdin does.
 */
public final class Main {
    private final Places places;
    private final ScheduledExecutorService keepers = Executors.newScheduledThreadPool(2);
    private final Map<String, SimpleLock> held = new ConcurrentHashMap<>();
    /** ShedLock remembers the names that it has seen by weak references: those of an application are constants. */
    private final Map<String, String> constants = new ConcurrentHashMap<>();
    private Crowd crowd;

    private Main(Map<String, String> options) throws Exception {
        places = new Places(options, new Witness(Path.of(options.get("witness")), options.get("who")));
    }

    public static void main(String[] args) throws Exception {
        Main main = new Main(Stream.of(args).map(arg -> arg.split("=", 2)).collect(Collectors.toMap(pair -> pair[0], pair -> pair[1])));
        ExecutorService pool = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        say("0 " + System.nanoTime());
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            pool.execute(() -> say(words[0] + " " + main.answer(words)));
        }
        System.exit(0);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private String answer(String[] words) {
        try {
            return switch (words[1]) {
                case "lock" -> lock(places.get(words[2]), words);
                case "keep" -> lock(ShortKeepAlive.of(places.get(words[2]), keepers), words);
                case "keep30" -> lock(new KeepAliveLockProvider(places.get(words[2]), keepers), words);
                case "host" -> Utils.getHostname();
                case "unlock" -> unlock(words[2] + " " + words[3]);
                case "crowd" -> {
                    crowd = new Crowd(places, keepers);
                    yield "begun";
                }
                case "end" -> crowd.end();
                default -> "error no command " + words[1];
            };
        } catch (Exception e) {
            return ("error " + e + " " + Optional.ofNullable(e.getCause()).map(Object::toString).orElse("")).replace('\n', ' ');
        }
    }

    private String lock(LockProvider provider, String[] words) {
        String name = constants.computeIfAbsent(words[3], same -> same);
        Optional<SimpleLock> lock = provider.lock(configuration(name, Long.parseLong(words[4]), Long.parseLong(words[5])));
        lock.ifPresent(taken -> held.put(words[2] + " " + words[3], taken));
        return lock.isPresent() ? "yes" : "no";
    }

    private String unlock(String what) {
        held.remove(what).unlock();
        return "done";
    }

    static LockConfiguration configuration(String name, long atMost, long atLeast) {
        return new LockConfiguration(Instant.now(), name, Duration.ofMillis(atMost), Duration.ofMillis(atLeast));
    }
}
