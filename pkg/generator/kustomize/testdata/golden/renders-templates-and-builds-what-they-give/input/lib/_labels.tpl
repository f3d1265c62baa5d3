[[ define "labels" ]]app: [[ name ]][[ end ]]
