// Package dependentcauses determines why a dependent is not ready. The reason is often in an Event, or in an object
// that a controller created for the dependent, such as a Pod.
//
// Decide is a pure function that derives causes from objects. Find reads the objects with the rights of the person who
// runs the command, and writes nothing. An object that cannot be read is left out without an error, because causes only
// supplement a status.
package dependentcauses
