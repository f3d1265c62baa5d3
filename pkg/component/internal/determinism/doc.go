// Package determinism compares renderings of the same inputs. It is pure.
package determinism
