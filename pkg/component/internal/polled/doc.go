// Package polled contains the event sources whose values come from services: Poll asks one service for the values of
// all components, PollEach asks for each component, and Mailbox receives values, for example from a webhook.
//
// The package enforces four rules. No fetch runs on a worker of the controller, and a fetch that hangs or panics holds
// up only its own component. An equal value wakes no component. A failed fetch keeps the last value, and tells the
// component only after the second failure in a row. What unsigned or early callers can make the process keep is
// limited in number, size and time.
package polled
