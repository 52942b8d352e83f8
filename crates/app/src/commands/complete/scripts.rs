//! The scripts of shells that ask `fourfold complete`.

/// Bash parts words at `=`, `:` and `@`, so what is before the last of these is cut off from the answers.
pub(crate) const BASH: &str = r#"_fourfold() {
    local line=${COMP_LINE:0:${COMP_POINT:-0}} current answer breaks= break cut=
    local -a words
    COMPREPLY=()
    if [[ -n $line ]]; then
        read -ra words <<<"$line"
        [[ $line == *[[:space:]] ]] && words+=("")
    else
        words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
    fi
    current=${words[${#words[@]}-1]}
    for break in = : @; do
        [[ $COMP_WORDBREAKS == *"$break"* ]] && breaks+=$break
    done
    [[ -n $breaks ]] && cut=${current%"${current##*[$breaks]}"}
    while IFS=$'\t' read -r answer _; do
        if [[ $answer == :files ]]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r answer; do COMPREPLY+=("$answer"); done < <(compgen -f -- "${current##*=}")
        else
            COMPREPLY+=("${answer#"$cut"}")
        fi
    done < <(command "${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=@/] ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -F _fourfold fourfold
"#;

/// Zsh's `_describe` parts a name from its description at the first colon.
pub(crate) const ZSH: &str = r#"#compdef fourfold
_fourfold() {
    local -a answers described
    local answer has_files=
    answers=("${(@f)$(command fourfold complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for answer in $answers; do
        if [[ $answer == :files ]]; then
            has_files=1
        elif [[ $answer == *$'\t'* ]]; then
            described+=("${${answer%%$'\t'*}//:/\\:}:${answer#*$'\t'}")
        elif [[ -n $answer ]]; then
            described+=("${answer//:/\\:}")
        fi
    done
    (( $#described )) && _describe 'fourfold' described
    [[ -n $has_files ]] && _files
}
if [ "$funcstack[1]" = "_fourfold" ]; then
    _fourfold "$@"
else
    compdef _fourfold fourfold
fi
"#;

/// Fish shows what is behind a tab beside the name.
pub(crate) const FISH: &str = r#"function __fourfold_complete
    set -l words (commandline -opc) (commandline -ct)
    for answer in (command fourfold complete -- $words[2..-1] 2>/dev/null)
        if test "$answer" = ":files"
            __fish_complete_path (commandline -ct)
        else
            printf '%s\n' $answer
        end
    end
end
complete -c fourfold -f -a '(__fourfold_complete)'
"#;
