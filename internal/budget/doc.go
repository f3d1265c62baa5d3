// Package budget bounds the memory that the work for all components takes together.
//
// Work for a component, such as a pass or the fetch of its source, holds a Lease. Code that is about to decode a text
// calls Reserve with the context of the work and an estimate of the memory. Nothing waits in Reserve: if the memory is
// not available, Reserve returns an error, the caller drops all that it holds, and the component stands in line. When
// its turn comes, the memory is kept for the component and its next pass is started. So no work waits for memory while
// it holds memory, and no worker waits.
//
// The namespaces of the waiting components take turns. The component at the head of the line gets the next memory that
// becomes free, so that a large request is not overtaken for ever. Each Lease has an allowance that the line does not
// know: usual components never stand in line, and never behind a component that does.
package budget
