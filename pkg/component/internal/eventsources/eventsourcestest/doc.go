// Package eventsourcestest contains the reconciler of the tests of event sources. It runs their Set, and notes which
// components were woken, and what was counted. It is used by tests only.
package eventsourcestest
