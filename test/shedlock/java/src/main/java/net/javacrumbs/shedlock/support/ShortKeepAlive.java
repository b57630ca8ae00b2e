package net.javacrumbs.shedlock.support;

import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockProvider;

/** ShedLock's KeepAliveLockProvider, without its least lockAtMostFor of 30 s, for which no test can wait. */
public final class ShortKeepAlive {
    private ShortKeepAlive() {}

    public static LockProvider of(ExtensibleLockProvider wrapped, ScheduledExecutorService executor) {
        return new KeepAliveLockProvider(wrapped, executor, Duration.ZERO);
    }
}
