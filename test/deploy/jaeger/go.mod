// The exact modules of Jaeger that a test runs. A program whose go.mod replaces modules cannot be installed by its name and
// version alone, so it is built from here: test/deploy/go-programs.ts.
module celery-otel/jaeger

go 1.24.6

require github.com/jaegertracing/jaeger v1.76.0

replace github.com/Shopify/sarama => github.com/Shopify/sarama v1.33.0
