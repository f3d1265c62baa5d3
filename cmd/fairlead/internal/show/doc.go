// Package show prints the results of commands: as tables for people, and as JSON and YAML with a stable schema for
// programs.
//
// The exported types are the schema, and the help topic output documents them. Each result type has a constructor that
// takes API objects, and a method Print. The package sends no requests.
package show
