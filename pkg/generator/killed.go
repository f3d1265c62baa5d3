package generator

// KilledError is the error of a rendering whose process was killed, or ended, before the rendering was complete. It is
// returned by generators that render in processes of their own; see package isolate. The same request is likely to fail
// again. Package component renders the same inputs at most three times; then the component is Stalled with reason
// RenderingKilled until its inputs change.
type KilledError struct {
	// Cause completes the sentence "the rendering was killed: …". It contains no data of the request.
	Cause string
}

// Error implements error.
func (e *KilledError) Error() string { return "the rendering was killed: " + e.Cause }
