// Pushes one round of metrics with the OpenTelemetry SDK for Node and exits 0
// when the exporter says that they were delivered.
//
//   node push.js proto|json|grpc ENDPOINT INSTANCE
'use strict';

const { diag, DiagLogLevel } = require('@opentelemetry/api');
const { resourceFromAttributes } = require('@opentelemetry/resources');
const { MeterProvider, PeriodicExportingMetricReader, AggregationType } = require('@opentelemetry/sdk-metrics');

const exporters = {
  proto: () => require('@opentelemetry/exporter-metrics-otlp-proto'),
  json: () => require('@opentelemetry/exporter-metrics-otlp-http'),
  grpc: () => require('@opentelemetry/exporter-metrics-otlp-grpc'),
};

async function main([kind, url, instance]) {
  let failure = '';
  const note = (...args) => { failure += args.join(' ') + '\n'; };
  diag.setLogger({ error: note, warn: note, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);

  const { OTLPMetricExporter } = exporters[kind]();
  const provider = new MeterProvider({
    resource: resourceFromAttributes({
      'service.name': 'shop',
      'service.namespace': 'e2e',
      'service.instance.id': instance,
      'deployment.environment.name': 'test',
    }),
    readers: [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter({ url }), exportIntervalMillis: 3600_000 })],
    views: [
      { instrumentName: 'e2e.latency', aggregation: { type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM, options: { boundaries: [1, 5, 10] } } },
      { instrumentName: 'e2e.size', aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM } },
    ],
  });
  const meter = provider.getMeter('e2e-scope', '1.2');

  const orders = meter.createCounter('e2e.orders', { unit: '{order}', description: 'Orders taken.' });
  orders.add(3, { route: '/a' });
  orders.add(4, { route: '/a' });
  const depth = meter.createUpDownCounter('e2e.queue.depth');
  depth.add(5);
  depth.add(-2);
  meter.createGauge('e2e.temperature', { unit: 'Cel' }).record(21.5, { room: 'küche' });
  const latency = meter.createHistogram('e2e.latency', { unit: 's' });
  for (const v of [0.5, 3, 7, 100]) latency.record(v);
  const size = meter.createHistogram('e2e.size', { unit: 'By' });
  for (const v of [1, 2, 4, 8]) size.record(v);

  await provider.forceFlush();
  await provider.shutdown();
  if (failure) throw new Error(failure);
}

main(process.argv.slice(2)).catch((err) => {
  console.error(err);
  process.exit(1);
});
