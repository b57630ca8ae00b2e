package locks;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.jdbc.core.JdbcTemplate;

/** The providers of this process by name: set up as docs/shedlock.md says, and, to see what it is for, not so. */
final class Places {
    private final Map<String, ExtensibleLockProvider> providers = new LinkedHashMap<>();

    Places(Map<String, String> options, Witness witness) {
        for (String database : new String[] {"postgres", "mariadb"}) {
            JdbcTemplate template = template(options.get(database));
            String table = options.get("table");
            add(database, "", witness, jdbc(template, table).usingDbTime().withLockedByValue(options.get("who")).build());
            // As it is by default: all processes of a host have one name.
            add(database, "-host", witness, jdbc(template, table).usingDbTime().build());
            add(database, "-jvm-time", witness, jdbc(template, table).withLockedByValue(options.get("who")).build());
        }
        LettuceConnectionFactory redis = redis(options.get("redis"));
        String env = options.get("env");
        add("redis", "", witness, new RedisLockProvider.Builder(redis).environment(env).safeUpdate(true).build());
        add("redis", "-del", witness, new RedisLockProvider.Builder(redis).environment(env).build());
    }

    ExtensibleLockProvider get(String place) {
        ExtensibleLockProvider provider = providers.get(place);
        if (provider == null) throw new IllegalArgumentException("No place " + place + ", but " + providers.keySet());
        return provider;
    }

    private void add(String store, String variant, Witness witness, JdbcTemplateLockProvider.Configuration configuration) {
        add(store, variant, witness, new JdbcTemplateLockProvider(configuration));
    }

    private void add(String store, String variant, Witness witness, ExtensibleLockProvider provider) {
        // The witness knows the lock by its store: how it was taken makes no difference.
        providers.put(store + variant, new Witnessed(provider, store, witness));
    }

    private static JdbcTemplateLockProvider.Configuration.Builder jdbc(JdbcTemplate template, String table) {
        return JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(template).withTableName(table);
    }

    private static JdbcTemplate template(String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(6);
        config.setMinimumIdle(1);
        return new JdbcTemplate(new HikariDataSource(config));
    }

    private static LettuceConnectionFactory redis(String url) {
        RedisConfiguration place = LettuceConnectionFactory.createRedisConfiguration(URI.create(url).toString());
        LettuceConnectionFactory factory = new LettuceConnectionFactory(place);
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }
}
