// Package kustomize renders the dependents of a component from a kustomization, with kustomize's own library on a
// copy of the source in memory.
//
// # What is rendered
//
// The kustomization at the top of the source, with everything that it refers to inside the source. A source without a
// kustomization file is a folder of plain manifests: all its files that end in .yaml, .yml or .json, in sub-folders
// too, and without those whose name, or whose folder's name, begins with a dot.
//
// The namespace of the component is not forced on the objects; it is the default for those that name none.
//
// # Templates
//
// The files of a folder with a ConfigFile are templates, which are rendered before kustomize reads them;
// docs/generators/kustomize.md describes it. In any other folder parameters have no effect.
//
// # What is refused
//
// Whatever would leave the source: remote resources, bases and components, absolute paths and paths above the top,
// plugins that run programs or containers, and helmCharts. The configuration of a transformer, generator or validator
// must be one of kustomize's built-in kinds, in the kustomization or in a file, not in a folder. Files are subject to
// kustomize's root restriction: a kustomization reads files in its own folder and below.
package kustomize
