// The pages of the site: which files of the repository they are made from, their addresses, and their order.
//
// The order is that of docs/README.md: its headings are the sections, and a page or folder stands where the page first
// names it. Pages that it does not name follow those of their folder, so that no page is left out.

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

// This file is run in build/site, or as a copy in bin/site.
export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const forge = 'https://github.com/fairlead-io/fairlead'
const contents = 'docs/README.md'
const image = /\.(svg|png|gif|jpg)$/

const read = (file) => fs.readFileSync(path.join(root, file), 'utf8')
const exists = (file) => fs.existsSync(path.join(root, file))
const isFolder = (file) => exists(file) && fs.statSync(path.join(root, file)).isDirectory()
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1)

// sources returns the paths of all pages: those in the root, and those below docs/.
export function sources() {
  const below = fs.readdirSync(path.join(root, 'docs'), { recursive: true }).map((name) => path.posix.join('docs', name))
  return [...fs.readdirSync(root), ...below].filter((name) => name.endsWith('.md')).sort()
}

// lists returns the READMEs that the site makes itself: a list of pages for each folder of docs/ without a README.
function lists() {
  const folders = new Set(sources().filter((file) => file.startsWith('docs/')).map((file) => path.posix.dirname(file)))
  return [...folders].map((folder) => folder + '/README.md').filter((file) => !exists(file))
}

// address returns where a page is in the site, without the extension .html: index for README.md.
export function address(source) {
  if (source === 'README.md') return 'index'
  if (source === contents) return 'contents'
  const page = source.replace(/\.md$/, '')
  if (!page.startsWith('docs/')) return 'project/' + page.toLowerCase().replaceAll('_', '-')
  return page.slice('docs/'.length).replace(/(^|\/)README$/, '$1index')
}

// heading returns the first heading of a page, without its markup.
function heading(source) {
  const match = read(source).match(/^# +(.+)$/m)
  return match ? match[1].replace(/[`*]/g, '') : path.basename(source, '.md')
}

// links returns the pages and folders of the repository that a page links to, with the texts of the links.
function links(source, text = read(source)) {
  return [...text.matchAll(/\[([^\]]*)\]\(([^)\s#]+)[^)]*\)/g)]
    .filter(([, , to]) => !/^[a-z]+:/.test(to))
    .map(([, text, to]) => ({ text, to: path.posix.join(path.posix.dirname(source), to).replace(/\/$/, '') }))
}

// folderTitle returns the heading of the README of a folder, else what docs/README.md calls the folder.
function folderTitle(folder) {
  if (exists(folder + '/README.md')) return heading(folder + '/README.md')
  const link = links(contents).find(({ to }) => to === folder)
  return capital(link ? link.text : path.posix.basename(folder).replaceAll('-', ' '))
}

// resolve returns the destination of a link of a page: a page of the site, an image of it, or a file on the forge.
export function resolve(source, destination) {
  if (/^([a-z]+:|#|\/)/i.test(destination)) return destination
  const [, to, rest] = destination.match(/^([^?#]*)(.*)$/)
  const target = path.posix.join(path.posix.dirname(source), decodeURI(to)).replace(/\/$/, '')
  if (image.test(target) && target.startsWith('docs/')) return '/' + target.slice('docs/'.length) + rest
  const pages = new Set([...sources(), ...lists()])
  for (const page of [target, target + '/README.md']) {
    if (pages.has(page)) return `/${address(page)}.html${rest}`
  }
  return `${forge}/${isFolder(target) ? 'tree' : 'blob'}/main/${target}${rest}`
}

// stage copies the pages, the lists and the images into a folder.
export function stage(into) {
  fs.rmSync(into, { recursive: true, force: true })
  const write = (name, content) => {
    fs.mkdirSync(path.dirname(path.join(into, name)), { recursive: true })
    fs.writeFileSync(path.join(into, name), content)
  }
  for (const source of sources()) write(source, read(source))
  for (const list of lists()) {
    const folder = path.posix.dirname(list)
    const items = order(folder).map((page) => `- [${heading(page)}](${path.posix.relative(folder, page)})`)
    write(list, `---\neditLink: false\n---\n# ${folderTitle(folder)}\n\n${items.join('\n')}\n`)
  }
  for (const name of fs.readdirSync(path.join(root, 'docs'), { recursive: true })) {
    if (image.test(name)) write(path.join('public', name), fs.readFileSync(path.join(root, 'docs', name)))
  }
}

// order returns the pages of a folder except its README, in the order of this README, then of docs/README.md, then of
// their names.
function order(folder) {
  const readme = folder + '/README.md'
  const named = [...(exists(readme) ? links(readme) : []), ...links(contents)].map(({ to }) => to)
  const place = (page) => (named.indexOf(page) + named.length + 1) % (named.length + 1)
  return sources()
    .filter((page) => path.posix.dirname(page) === folder && path.posix.basename(page) !== 'README.md')
    .sort((a, b) => place(a) - place(b) || a.localeCompare(b, 'en', { numeric: true }))
}

// item returns the entry of a page. A folder's entry says "How to" or "Examples" already, so its pages need not.
function item(page, folder) {
  const repeated = path.posix.basename(folder).replaceAll('-', ' ').replace(/s$/, '')
  const text = heading(page).replace(new RegExp(`^${repeated}s?:? (?=.)`, 'i'), '')
  return { text: text.includes(' ') ? capital(text) : text, link: `/${address(page)}.html` }
}

// group returns the entry of a folder with some of its pages, and with the folders in it.
function group(folder, pages) {
  const folders = folder === '.' ? [] : [...sources(), ...lists()]
    .filter((page) => page.endsWith('/README.md') && path.posix.dirname(path.posix.dirname(page)) === folder)
    .map((page) => path.posix.dirname(page))
  const items = [...pages.map((page) => item(page, folder)), ...folders.map((inner) => group(inner, order(inner)))]
  if (folder === '.') return { text: 'Project', link: '/index.html', collapsed: true, items }
  const entry = { text: folderTitle(folder), link: `/${address(folder + '/README.md')}.html` }
  return items.length === 0 ? entry : { ...entry, collapsed: true, items }
}

// sidebar returns the sections with their pages.
export function sidebar() {
  const [, ...parts] = read(contents).split(/^## +/m)
  const sections = parts.map((part) => ({
    text: part.slice(0, part.indexOf('\n')),
    named: links(contents, part).map(({ to }) => to),
  }))
  const folderOf = (target) => (isFolder(target) ? target : path.posix.dirname(target))
  // A folder whose index is named is in one section; the pages of others may be in several.
  const isIndex = (target) => target !== contents && (isFolder(target) || target.endsWith('/README.md'))
  const home = (folder) => {
    const byIndex = sections.find(({ named }) => named.some((to) => isIndex(to) && folderOf(to) === folder))
    return byIndex ?? sections.find(({ named }) => named.some((to) => folderOf(to) === folder)) ?? sections.at(-1)
  }
  const hasIndex = (folder) => sections.some(({ named }) => named.some((to) => isIndex(to) && folderOf(to) === folder))
  const sectionOf = (page) => {
    const folder = path.posix.dirname(page)
    if (folder !== 'docs' && hasIndex(folder)) return home(folder)
    return sections.find(({ named }) => named.includes(page)) ?? home(folder)
  }
  const folders = [...new Set(sources().map((page) => page.split('/').slice(0, 2)).map(([a, b]) =>
    b === undefined ? '.' : b.endsWith('.md') ? 'docs' : `${a}/${b}`))]
  return sections.map((section) => {
    const entries = []
    const place = (targets) => {
      const found = section.named.findIndex((to) => targets.includes(to))
      return found < 0 ? section.named.length : found
    }
    for (const folder of folders) {
      const pages = order(folder).filter((page) => sectionOf(page) === section)
      const index = exists(folder + '/README.md') && sectionOf(folder + '/README.md') === section
      if (pages.length === 0 && !index) continue
      if (folder === 'docs') {
        entries.push(...pages.map((page) => ({ at: place([page]), ...item(page, folder) })))
      } else {
        entries.push({ at: place([...pages, folder, folder + '/README.md']), ...group(folder, pages) })
      }
    }
    const items = entries.sort((a, b) => a.at - b.at).map(({ at, ...entry }) => entry)
    // A section of one folder needs no folder.
    const [only] = items
    if (items.length === 1 && only.text === section.text) items.splice(0, 1, { text: 'Overview', link: only.link }, ...only.items)
    return { text: section.text, items }
  })
}
