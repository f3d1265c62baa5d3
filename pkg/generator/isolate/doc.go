// Package isolate renders in child processes of the same program, so that a rendering that gets out of hand harms its
// own component alone.
//
// A program calls Main as the first statement of its function main, and wraps its generator with New. New starts a few
// children and uses them again for the next renderings. A child has an empty environment, no open file, no network, low
// priority, and bounds of memory and time. A request goes to a child over a pipe. The child asks the parent for objects
// that the generator looks up, and for generators that need the network; see Outside.
//
// If a child exceeds a bound, it ends or is killed, and Generate returns a generator.KilledError. Package component
// renders such a component again at most twice for the same inputs.
//
// The line for the children shares them among namespaces by time, and stops long renderings when others wait, because a
// rendering has no effects and can be repeated. It is not Turns of pkg/component/internal/target, which shares slots by
// their number and takes none away, because a pass has effects and must run to its end.
//
// The package knows no engine. The confinement needs Linux. On other systems the children have bounds of time, and
// nothing else.
package isolate
