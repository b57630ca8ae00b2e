package locks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What this process believes to hold, line by line, in a file that all processes append to. See ../../../../../witness.ts,
 * which judges it. Times are nanoseconds of the machine's monotonic clock.
 */
final class Witness {
    private final FileChannel file;
    private final String who;
    private final AtomicLong claims = new AtomicLong();

    Witness(Path path, String who) throws IOException {
        this.file = FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
        this.who = who;
    }

    String claim() {
        return who + "." + claims.incrementAndGet();
    }

    /** The lock is held from now on, and until then at least. */
    void holds(String claim, String lock, long until) {
        write("holds", claim, lock, until);
    }

    /** It is about to be given back, and is kept until then. */
    void ends(String claim, String lock, long until) {
        write("ends", claim, lock, until);
    }

    private void write(String what, String claim, String lock, long until) {
        String line = String.join(" ", what, who, claim, lock, Long.toString(System.nanoTime()), Long.toString(until)) + "\n";
        try {
            // One write: lines of several processes do not mix.
            file.write(ByteBuffer.wrap(line.getBytes(StandardCharsets.UTF_8)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
