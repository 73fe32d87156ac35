// The exact modules of docker-compose that a test runs. A program whose go.mod excludes modules cannot be installed by its
// name and version alone, so it is built from here: test/deploy/go-programs.ts.
module celery-otel/docker-compose

go 1.24.9

require github.com/docker/compose/v2 v2.40.3

exclude (
	github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2
)
