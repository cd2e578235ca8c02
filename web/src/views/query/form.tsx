/** A field for each parameter of the query, by its type. */
import { inputOf } from "./parameters";
import { parameters, run, typed } from "./state";

export function Form() {
  const fields = parameters.value;
  if (fields.length === 0) return null;
  return (
    <form
      class="query-form"
      aria-label="Parameters"
      onSubmit={(event) => {
        event.preventDefault();
        void run();
      }}
    >
      {fields.map(({ name, type, is_nullable: isNullable }) => {
        const { kind, choices, example } = inputOf(type);
        const value = typed.value[name] ?? "";
        const set = (event: { currentTarget: { value: string } }): void => {
          typed.value = { ...typed.value, [name]: event.currentTarget.value };
        };
        const placeholder = example || (isNullable ? "nothing" : "");
        return (
          <label key={name} class="field">
            <span>
              {name} <span class="mono">{type.endsWith("?") || !isNullable ? type : `${type}?`}</span>
            </span>
            {kind === "choice" ? (
              <select value={value} onChange={set}>
                <option value="">{isNullable ? "nothing" : "choose"}</option>
                {choices.map((choice) => (
                  <option key={choice}>{choice}</option>
                ))}
              </select>
            ) : kind === "date" ? (
              <input type="date" value={value} onInput={set} />
            ) : (
              <input type="text" inputMode={kind === "number" ? "decimal" : "text"} value={value} placeholder={placeholder} onInput={set} />
            )}
          </label>
        );
      })}
      {/* Enter in a field runs the query, as it does in every form with a button. */}
      <button type="submit" class="unseen" tabIndex={-1} aria-hidden="true">
        Run
      </button>
    </form>
  );
}
