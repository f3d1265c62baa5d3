package templates

// This line is wide, and is one of a template:
// ....................................................................................................
