// Package docs tests the project's Markdown pages: its tests run every command and YAML block of README.md and docs/,
// compile every Go block, and check every link and picture. CONTRIBUTING.md describes how blocks are marked.
package docs
