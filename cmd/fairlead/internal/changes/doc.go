// Package changes compares objects. It returns differences as field paths or as unified diffs of YAML, and reads the
// managed fields of objects.
//
// Its functions are pure. They mask the values of Secrets in every text that they return.
package changes
