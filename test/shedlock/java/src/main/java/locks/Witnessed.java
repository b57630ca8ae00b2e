package locks;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** A provider of ShedLock that tells the witness what it was given, and for how long. */
record Witnessed(ExtensibleLockProvider provider, String place, Witness witness) implements ExtensibleLockProvider {
    /** A database may round a time down to a millisecond, and so may Redis. */
    private static final long ROUNDED = 2_000_000;

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        // Before the clocks of the configuration and of the server are read again: what is claimed is never too long.
        long asked = System.nanoTime();
        Instant now = Instant.now();
        long until = asked + Duration.between(now, configuration.getLockAtMostUntil()).toNanos() - ROUNDED;
        long kept = asked + Duration.between(now, configuration.getLockAtLeastUntil()).toNanos() - ROUNDED;
        String claim = witness.claim();
        String lock = place + "/" + configuration.getName();
        return provider.lock(configuration).map(taken -> {
            witness.holds(claim, lock, until);
            return new Held(taken, claim, lock, kept);
        });
    }

    private final class Held implements SimpleLock {
        private final SimpleLock taken;
        private final String claim;
        private final String lock;
        private final long kept;

        Held(SimpleLock taken, String claim, String lock, long kept) {
            this.taken = taken;
            this.claim = claim;
            this.lock = lock;
            this.kept = kept;
        }

        @Override
        public void unlock() {
            witness.ends(claim, lock, Math.max(System.nanoTime(), kept));
            taken.unlock();
        }

        @Override
        public Optional<SimpleLock> extend(Duration lockAtMostFor, Duration lockAtLeastFor) {
            long asked = System.nanoTime();
            return taken.extend(lockAtMostFor, lockAtLeastFor).map(extended -> {
                witness.holds(claim, lock, asked + lockAtMostFor.toNanos() - ROUNDED);
                return new Held(extended, claim, lock, asked + lockAtLeastFor.toNanos() - ROUNDED);
            });
        }
    }
}
