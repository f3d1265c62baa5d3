// Package tracing starts the OpenTelemetry spans of passes, waves and writes. What is in Secrets is in none of them.
package tracing
