// Package logging keeps contents of Secrets out of logs.
//
// client-go logs the bodies of requests and responses at level 8 and above, with the logger in the context of a
// request, or else with klog. The loggers of this package drop all messages of these levels.
package logging
