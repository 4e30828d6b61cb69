"""A patch as calls of `edit`: what each hunk takes away, and what it puts there."""


def edits_of(patch):
    path, edits = "", []
    for line in patch.splitlines(keepends=True):
        if line.startswith("+++ b/"):
            path = line[6:].strip()
        elif line.startswith("@@"):
            edits.append({"path": path, "old_text": "", "new_text": ""})
        elif edits and line[:1] in " -+" and not line.startswith("--- "):
            if line[0] in " -":
                edits[-1]["old_text"] += line[1:]
            if line[0] in " +":
                edits[-1]["new_text"] += line[1:]
    return edits
