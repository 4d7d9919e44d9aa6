import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;

/** Takes metrics of clients: without one, Apache Kafka does not serve their requests. */
@SuppressWarnings("removal")
public class MetricsReceiver implements MetricsReporter, ClientTelemetry, ClientTelemetryReceiver {
    public void init(List<KafkaMetric> metrics) {}

    public void metricChange(KafkaMetric metric) {}

    public void metricRemoval(KafkaMetric metric) {}

    public void close() {}

    public void configure(Map<String, ?> configs) {}

    public ClientTelemetryReceiver clientReceiver() {
        return this;
    }

    public void exportMetrics(AuthorizableRequestContext context, ClientTelemetryPayload payload) {
        payload.data(); // decompresses it
    }
}
