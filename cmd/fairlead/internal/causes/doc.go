// Package causes finds why a dependent is not ready: the reason is often in an event, or in an object that a controller
// made for the dependent, such as a Pod.
//
// Decide is pure: objects in, causes out. Find reads the objects with the rights of the person who asks, and writes
// nothing. An object that cannot be read is left out silently, because a cause only adds to a status.
package causes
