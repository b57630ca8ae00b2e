package locks;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.ShortKeepAlive;

/** A thread for each lock of each place that takes it again and again. The other side is `crowd()` of ../../../../../nest/main.ts. */
final class Crowd {
    private static final long AT_MOST = 2_000;
    private static final long AT_LEAST = 100;

    private final List<Thread> threads = new ArrayList<>();
    private final AtomicReference<String> trouble = new AtomicReference<>("");
    private volatile boolean over;

    Crowd(Places places, ScheduledExecutorService keepers) {
        for (String store : new String[] {"postgres", "mariadb", "redis"}) {
            LockProvider provider = places.get(store);
            begin(provider, "brief-1", 0, 3);
            begin(provider, "brief-2", 0, 3);
            begin(provider, "least", AT_LEAST, 3);
            begin(ShortKeepAlive.of(places.get(store), keepers), "long", 0, AT_MOST * 3 / 2);
        }
    }

    private void begin(LockProvider provider, String name, long atLeast, long most) {
        Thread thread = new Thread(() -> {
            while (!over) turn(provider, Main.configuration(name, AT_MOST, atLeast), most);
        });
        thread.setDaemon(true);
        thread.start();
        threads.add(thread);
    }

    private void turn(LockProvider provider, LockConfiguration configuration, long most) {
        try {
            Optional<SimpleLock> lock = provider.lock(configuration);
            if (lock.isPresent()) {
                sleep(most);
                lock.get().unlock();
            }
        } catch (RuntimeException e) {
            trouble.set(e.toString().replace('\n', ' '));
        }
        sleep(20);
    }

    private void sleep(long most) {
        try {
            long end = System.nanoTime() + ThreadLocalRandom.current().nextLong(most + 1) * 1_000_000;
            // In small steps, so that the end need not wait.
            while (!over && System.nanoTime() < end) Thread.sleep(Math.min(1 + (end - System.nanoTime()) / 1_000_000, 50));
        } catch (InterruptedException e) {
            over = true;
        }
    }

    /** Waits for the end of all threads; the answer is the last error, if there was one. */
    String end() throws InterruptedException {
        over = true;
        for (Thread thread : threads) thread.join();
        return trouble.get();
    }
}
