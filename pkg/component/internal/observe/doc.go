// Package observe knows what is in the cluster without asking for it: one label-selected watch per type tells which dependents exist,
// whose they are, whether they are ready, and whether they drifted. It wakes the component whose dependent somebody else changed.
package observe
