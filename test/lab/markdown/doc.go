// Package markdown prints Markdown tables for the reports of the programs in test.
package markdown
