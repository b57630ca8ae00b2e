import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import io.netty.channel.Channel;
import java.util.List;

/** A MongoDB in memory, on a port of the loopback interface. */
public class StandIn {
  /** The drivers 6 and 7 talk to no server that says it is much older. */
  private static final MongoVersion VERSION =
      new MongoVersion() {
        @Override
        public List<Integer> getVersionArray() {
          return List.of(7, 0, 0);
        }

        @Override
        public int getWireVersion() {
          return 21;
        }
      };

  public static void main(String[] args) {
    MemoryBackend backend =
        new MemoryBackend() {
          /** `hello` has had the answer of `isMaster` since MongoDB 4.4. */
          @Override
          public Document handleCommand(
              Channel channel, String database, String command, Document query) {
            String known = command.equals("hello") ? "isMaster" : command;
            return super.handleCommand(channel, database, known, query);
          }
        };
    backend.version(VERSION);
    new MongoServer(backend).bind("127.0.0.1", Integer.parseInt(args[0]));
  }
}
