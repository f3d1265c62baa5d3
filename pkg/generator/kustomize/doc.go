// Package kustomize renders the dependents of a component from a kustomization. It runs kustomize's own library on a
// copy of the source in memory.
//
// # What is rendered
//
// The engine builds the kustomization in the root of the source. The kustomization may refer to all files inside the
// source. If the root has no kustomization file, the source is a folder of plain manifests: all files that end in
// .yaml, .yml or .json are rendered, also in sub-folders, except files and folders whose names begin with a dot.
//
// Objects without a namespace are created in the namespace of the component. The namespaces of other objects are not
// changed.
//
// # Templates
//
// If a folder contains a file named ConfigFile (.fairlead-kustomize.yaml), the files of this folder are templates. They
// are rendered with the parameters of the component before kustomize reads them; see docs/generators/kustomize.md. In
// other folders the parameters have no effect.
//
// # What is refused
//
// References to anything outside the source are errors: remote resources, bases and components, absolute paths, and
// paths above the root. Plugins that run programs or containers, and the field helmCharts, are errors too. The
// configuration of a transformer, generator or validator must be of a built-in kind of kustomize, and must be in the
// kustomization or in a file, not in a folder. kustomize's load restriction applies: a kustomization can read only
// files in its own folder and below.
package kustomize
