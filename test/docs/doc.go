// Package docs reads the project's Markdown and tries what it says: its tests run every command and YAML block of
// README.md and docs/, compile every Go block, and follow every link. CONTRIBUTING.md says how blocks are marked.
package docs
